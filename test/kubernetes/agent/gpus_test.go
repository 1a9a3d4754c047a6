// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The eight GPUs: three that are allocated whole, one in four slots, one that is never allocated, one in two partitions, and two by dynamic
// resource allocation.
const (
	gpus = 8

	sharedGPU = 3
	spareGPU  = 4
	migGPU    = 5
	nodeGPU   = 6 // identified by the device node in the CDI file of a claim
	sliceGPU  = 7 // identified by its attributes in the ResourceSlice
)

const (
	wholeResource  = "nvidia.com/gpu"
	sharedResource = "nvidia.com/gpu.shared"
	smallMIG       = "nvidia.com/mig-1g.10gb"
	largeMIG       = "nvidia.com/mig-3g.40gb"
	driverName     = "gpu.nvidia.com"
)

// gpu is the UUID that the simulator gives to the n-th GPU.
func gpu(n int) string { return fmt.Sprintf("GPU-6f1c2a%02x-5eed-4a11-8c0d-0000c0ffee%02x", n, n) }

// mig is the UUID of the n-th partition.
func mig(n int) string {
	return fmt.Sprintf("MIG-6f1c2a%02x-5eed-4a11-8c0d-0000c0ffee%02x", migGPU, 0x50+n)
}

func scenario() string {
	var s strings.Builder
	fmt.Fprintf(&s, "gpus = %d\n[gpu *]\nboard = h100\npower = 300\nmemory.base = 0\n", gpus)
	for n := range gpus {
		fmt.Fprintf(&s, "[gpu %d]\nuuid = %s\n", n, gpu(n))
	}
	fmt.Fprintf(&s, "[gpu %d]\nmig = 1\n", migGPU)
	for n, profile := range []string{"3g.40gb\ngi = 2", "1g.10gb\ngi = 9"} {
		fmt.Fprintf(&s, "[mig %d %d]\nprofile = %s\nci = 0\nuuid = %s\nmemory.base = 0\n", migGPU, n, profile, mig(n))
	}
	return s.String()
}

// resources are the arguments of the device plugin. GPU 1 is near two NUMA nodes: the kubelet lists it twice.
func resources() []string {
	return []string{
		"-resource", fmt.Sprintf("%s=%s,%s@0+1,%s", wholeResource, gpu(0), gpu(1), gpu(2)),
		"-resource", fmt.Sprintf("%s=%s*4", sharedResource, gpu(sharedGPU)),
		"-resource", largeMIG + "=" + mig(0),
		"-resource", smallMIG + "=" + mig(1),
		"-resource", otherResource + "=" + otherDevice,
	}
}

// offered are the devices of the driver. The CDI file of the second does not identify it.
func offered() []string {
	return []string{
		"-device", fmt.Sprintf("gpu-%d=%s,minor=%d", nodeGPU, gpu(nodeGPU), nodeGPU),
		"-device", fmt.Sprintf("board-%d=%s", sliceGPU, gpu(sliceGPU)),
	}
}

// user is a process that the simulator places on a device.
type user struct {
	name   string
	device string // its UUID
	pid    int    // as the node's process table has it
	memory int64  // bytes
	sm     int    // percent of the device's time

	pod, container string // empty if it runs outside of any container
}

// place is the place of a device in the simulator.
func place(device string) string {
	for n := range gpus {
		if device == gpu(n) {
			return fmt.Sprintf("gpu = %d", n)
		}
	}
	for n := range 2 {
		if device == mig(n) {
			return fmt.Sprintf("gpu = %d\nmig = %d", migGPU, n)
		}
	}
	panic("no device " + device)
}

// use puts a process on a device and removes an earlier one of the same name.
func (w *world) use(t *testing.T, u user) {
	t.Helper()
	w.unuse(t, u.name)
	w.users = append(w.users, u)
	w.simulate(t)
}

// unuse takes a process off its device.
func (w *world) unuse(t *testing.T, name string) {
	t.Helper()
	w.users = slices.DeleteFunc(w.users, func(u user) bool { return u.name == name })
	w.simulate(t)
}

// simulate makes the simulator report the processes and the time that each of them uses of a GPU.
func (w *world) simulate(t *testing.T) {
	t.Helper()
	var s strings.Builder
	for n := range gpus {
		busy := 0
		for _, u := range w.users {
			if u.device == gpu(n) {
				busy += u.sm
			}
		}
		fmt.Fprintf(&s, "[gpu %d]\nutil.gpu = %d\n", n, busy)
	}
	for _, u := range w.users {
		fmt.Fprintf(&s, "[process %s]\n%s\npid = %d\nname = /pause\nmemory = %d\nsm = %d\n", u.name, place(u.device), u.pid, u.memory, u.sm)
	}
	s.WriteString(w.more)
	if !w.live {
		require.NoError(t, w.control.Write(s.String()))
		return
	}
	require.NoError(t, w.control.Set(s.String()))
}
