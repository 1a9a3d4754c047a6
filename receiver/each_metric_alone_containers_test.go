// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// Container metrics are derived from values of the GPU and the processes: each metric must cause all the reads that it needs. One container
// has a GPU to itself, one shares it with a container that does not hold it, one holds a MIG instance, one uses nothing.
func TestEachMetricAloneContainers(t *testing.T) {
	const id, instance = "GPU-00000000-0000-4000-8000-%012d", "MIG-00000000-0000-4000-8000-000000000050"
	lib := simulator(t)
	var scenario strings.Builder
	scenario.WriteString("time = manual\ngpus = 4\n[gpu *]\nboard = h100\nutil.gpu = 60\npower = 400\n" +
		"[gpu 2]\nmig = 1\n[mig 2 0]\nprofile = 3g.40gb\nuuid = " + instance + "\n")
	for i := range 4 {
		fmt.Fprintf(&scenario, "[gpu %d]\nuuid = "+id+"\n", i, i)
	}
	for i, simulation := range []string{"gpu = 0", "gpu = 1", "gpu = 1", "gpu = 2\nmig = 0"} {
		fmt.Fprintf(&scenario, "[process p%d]\n%s\npid = %d\nmemory = %dGi\nsm = %d\n", i, simulation, 5001+i, i+1, 10*(i+1))
	}
	control := nvmlsim.Use(t, scenario.String())
	closed(t, lib)

	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("proc/stat", "btime 1700000000\n")
	for i := range 4 {
		pid, uid := 5001+i, fmt.Sprintf("00000000-0000-4000-8000-%012x", i)
		directory := filepath.Join("proc", strconv.Itoa(pid))
		write(directory+"/stat", fmt.Sprintf("%d (p) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 0 0 0 0 0 0\n", pid, pid))
		write(directory+"/status", "Name:\tp\nUid:\t0\t0\t0\t0\n")
		write(directory+"/cgroup", fmt.Sprintf("0::/kubepods.slice/kubepods-pod%s.slice/cri-containerd-%064x.scope\n", strings.ReplaceAll(uid, "-", "_"), i))
		write(fmt.Sprintf("log/pods/ml_pod-%d_%s/main/0.log", i, uid), "")
	}
	kubelet := kubelettest.New(t)
	kubelet.Start()
	const resource = "nvidia.com/gpu"
	kubelet.Set(
		kubelettest.Pod("pod-0", kubelettest.Container("main", resource, fmt.Sprintf(id, 0))),
		kubelettest.Pod("pod-1", kubelettest.Container("main", resource, fmt.Sprintf(id, 1))),
		kubelettest.Pod("pod-3", kubelettest.Container("main", "nvidia.com/mig-3g.40gb", instance)),
		kubelettest.Pod("idle", kubelettest.Container("main", resource, fmt.Sprintf(id, 3))),
	)

	now := simEpoch
	settings := nvml.DefaultConfig()
	settings.LibraryPath = lib.Full
	eachAloneOf(t, func(want gpu.Group) gpu.Source {
		return nvml.New(&settings, want, nvml.WithClock(func() time.Time { return now }), nvml.WithSysRoot(t.TempDir()), nvml.WithProcRoot(t.TempDir()))
	}, func(s *stage) {
		cfg := attribution.Config{
			NodeName:     "node-a",
			PodResources: &attribution.PodResourcesConfig{Endpoint: kubelet.Endpoint()},
			Processes:    &attribution.ProcessesConfig{ProcPath: filepath.Join(dir, "proc"), LogPath: filepath.Join(dir, "log"), AnyPIDNamespace: true},
		}
		attributor, err := attribution.New(cfg, halfAMinute*time.Second)
		require.NoError(t, err)
		require.NoError(t, attributor.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, attributor.Close()) })
		s.reader.Attributor = attributor
		s.describe(cfg.Processes.Reader())
	}, func() {
		now = now.Add(halfAMinute * time.Second)
		require.NoError(t, control.Set("now = 30s"))
	}, "container.gpu.allocated", "container.gpu.energy", "container.gpu.idle.time", "container.gpu.media.utilization", "container.gpu.memory.limit", "container.gpu.memory.usage",
		"container.gpu.power", "container.gpu.utilization", "hw.gpu.allocated")
}
