// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Drivers have listed 0 and the largest number among the processes: neither is a process.
func TestPlaceholderPIDs(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\nnow = 10\n[process a]\ngpu = 0\npid = 7\nmemory = 1Gi\n[process none]\ngpu = 0\npid = 0\nmemory = 1Gi\n"+
		"[process marked]\ngpu = 0\npid = 4294967295\nmemory = raw(0xFFFFFFFFFFFFFFFF)")
	n := b.read()
	require.Len(t, n.Processes, 1)
	assert.Equal(t, int64(7), n.Processes[0].PID)
	assert.False(t, gpuAt(t, n, 0).ProcessesUnread, "the list was read")
}

// A process for which the driver reports neither memory nor utilization stays in the list.
func TestProcessesWithoutValues(t *testing.T) {
	b := start(t, "gpus = 1\n[process p]\ngpu = 0\npid = 7\nmemory = raw(0xFFFFFFFFFFFFFFFF)\n"+
		"[process q]\ngpu = 0\npid = 8\ntype = graphics\nmemory = raw(0xFFFFFFFFFFFFFFFF)\n"+
		"[fault f]\ngpu = 0\nfunction = nvmlDeviceGetProcessUtilization\nreturn = NOT_SUPPORTED")
	for range 3 {
		n := b.read()
		assert.Empty(t, n.Problems)
		id := gpuAt(t, n, 0).ID
		assert.Equal(t, []gpu.Process{
			{PID: 7, DeviceID: id, Type: gpu.ProcessCompute}, {PID: 8, DeviceID: id, Type: gpu.ProcessGraphics},
		}, n.Processes)
	}
}
