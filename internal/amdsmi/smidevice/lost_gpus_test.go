// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Each GPU is in the node once, wherever it was.
func TestUnreadableAfterMove(t *testing.T) {
	t.Parallel()
	k := NewKnownGPUs(command.ROCmSMI)
	for i, place := range []string{"0000:09:00.0", "0000:03:00.0"} {
		node := gpu.Node{Time: smitest.Start.Add(smitest.Seconds(i))}
		k.List(&node, []GPU{{devices: []gpu.Device{{ID: "000000000000000c", Info: gpu.Info{PCIAddress: place}}}, numbers: []int{0}}})
	}
	node := gpu.Node{Time: smitest.Start.Add(smitest.Seconds(3))}
	require.True(t, k.Unreadable(&node, gpu.FaultHung, command.ErrTimeout))
	require.Len(t, node.Devices, 1)
	assert.Equal(t, "0000:03:00.0", node.Devices[0].Info.PCIAddress)
	smitest.RequireValue(t, int64(1), node.Presence[gpu.Missing], "missing")
}
