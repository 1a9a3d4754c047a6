// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A GPU whose processes were not read differs from a GPU without processes.
func TestProcessesUnread(t *testing.T) {
	const fault = "[fault f]\ngpu = 1\n"
	for name, test := range map[string]struct {
		fault  string
		unread bool
	}{
		"no fault":                         {"", false},
		"hung":                             {fault + "function = nvmlDeviceGetTemperature\nhang = true", true},
		"lost":                             {fault + "kind = lost", true},
		"no list of those that compute":    {fault + "function = nvmlDeviceGetComputeRunningProcesses\nreturn = UNKNOWN", true},
		"may not see those that compute":   {fault + "function = nvmlDeviceGetComputeRunningProcesses\nreturn = NO_PERMISSION", true},
		"has no list at all":               {fault + "function = nvmlDeviceGetComputeRunningProcesses\nreturn = NOT_SUPPORTED", true},
		"no list of those that draw":       {fault + "function = nvmlDeviceGetGraphicsRunningProcesses\nreturn = UNKNOWN", true},
		"has no list of those that draw":   {fault + "function = nvmlDeviceGetGraphicsRunningProcesses\nreturn = NOT_SUPPORTED", false},
		"has no list of those that share":  {fault + "function = nvmlDeviceGetMPSComputeRunningProcesses\nreturn = NOT_SUPPORTED", false},
		"may not see those that share":     {fault + "function = nvmlDeviceGetMPSComputeRunningProcesses\nreturn = NO_PERMISSION", true},
		"the readings are not to be had":   {fault + "function = nvmlDeviceGetTemperature\nreturn = UNKNOWN", false},
		"use of processes cannot be asked": {fault + "function = nvmlDeviceGetProcessUtilization\nreturn = UNKNOWN", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2\n[gpu *]\nboard = h100\n[process p]\ngpu = *\ncount = 2\npid = 51001\nmemory = 2Gi")
			require.Len(t, b.read().Processes, 4)
			b.set(test.fault)
			if strings.Contains(test.fault, "hang") {
				b.readUntilHung(1)
			}
			for range 3 {
				n := b.read()
				require.Len(t, n.Devices, 2)
				assert.False(t, n.Devices[0].ProcessesUnread)
				assert.Equal(t, test.unread, n.Devices[1].ProcessesUnread)
			}
			b.unhang("[fault f]\npresent = false")
		})
	}
	t.Run("not wanted", func(t *testing.T) {
		b := start(t, "gpus = 1", gpu.GroupPower)
		assert.True(t, b.read().Devices[0].ProcessesUnread)
	})
}

// The instances have the processes of their GPU. Nothing is known of any of them when the GPU is lost.
func TestProcessesUnreadMIG(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nboard = h100\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 2\nci = 0\n"+
		"[mig 0 1]\nprofile = 3g.40gb\ngi = 1\nci = 0\n[process p]\ngpu = 0\nmig = 0\npid = 51001\nmemory = 2Gi")
	unread := func() (all []bool) {
		n := b.read()
		for i := range n.Devices {
			all = append(all, n.Devices[i].ProcessesUnread)
		}
		return all
	}
	assert.Equal(t, []bool{false, false, false}, unread())
	b.set("[fault f]\ngpu = 0\nmig = 1\nfunction = nvmlDeviceGetComputeRunningProcesses\nreturn = UNKNOWN")
	assert.Equal(t, []bool{false, false, true}, unread())
	b.set("[fault f]\ngpu = 0\nkind = lost")
	assert.Equal(t, []bool{true, true, true}, unread())
}
