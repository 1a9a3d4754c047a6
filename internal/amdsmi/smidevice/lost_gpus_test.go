// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
)

// Each GPU is in the node once, wherever it was.
func TestUnreadAfterMove(t *testing.T) {
	t.Parallel()
	k := NewKnownGPUs(command.ROCmSMI)
	for i, place := range []string{"0000:09:00.0", "0000:03:00.0"} {
		node := gpu.Node{Time: smitest.Start.Add(smitest.Seconds(i))}
		k.List(&node, []GPU{{devices: []gpu.Device{{ID: "000000000000000c", Info: gpu.Info{PCIAddress: place}}}, numbers: []int{0}}})
	}
	node := gpu.Node{Time: smitest.Start.Add(smitest.Seconds(3))}
	require.True(t, k.Unread(&node, &gpu.Failure{Reason: gpu.FailureTimeout, Err: command.ErrTimeout}))
	require.Len(t, node.Devices, 1)
	assert.Equal(t, "0000:03:00.0", node.Devices[0].Info.PCIAddress)
}

func oneGPU(id, address string) GPU {
	return GPU{devices: []gpu.Device{{ID: id, Info: gpu.Info{PCIAddress: address}}}, numbers: []int{0}}
}

func TestLostGPU(t *testing.T) {
	t.Parallel()
	k := NewKnownGPUs(command.AMDSMI)
	node := gpu.Node{Time: smitest.Start}
	leaves := k.List(&node, []GPU{oneGPU("c", "03"), oneGPU("d", "04")})
	assert.Equal(t, map[int]Leaf{0: {ID: "d", At: gpu.Location{PCIAddress: "04"}}}, leaves)
	k.AddLost(&node)
	smitest.RequireValue(t, 2, node.Presence[gpu.Visible], "visible")
	smitest.RequireValue(t, 0, node.Presence[gpu.Missing], "missing")

	node = gpu.Node{Time: smitest.Start.Add(smitest.Seconds(30))}
	k.List(&node, []GPU{oneGPU("d", "04")})
	assert.Equal(t, []string{"d"}, smitest.IDs(&node))
	cut := node
	k.AddUnlisted(&cut)
	assert.Equal(t, []string{"d", "c"}, smitest.IDs(&cut))
	assert.True(t, cut.Devices[1].Unread, "the list may be incomplete")
	assert.Empty(t, cut.Devices[1].Faults)
	assert.False(t, cut.Presence[gpu.Visible].Known())
	k.AddLost(&node)
	assert.Equal(t, []string{"d", "c"}, smitest.IDs(&node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, smitest.Faults(&node.Devices[1]))
	assert.Contains(t, node.Devices[1].Faults[0].Message, "2025-11-21T08:00:00Z")
	smitest.RequireValue(t, 1, node.Presence[gpu.Missing], "missing")
}

// Two GPUs never become one; one that is listed twice is in the node once.
func TestSharedID(t *testing.T) {
	t.Parallel()
	k := NewKnownGPUs(command.AMDSMI)
	node := gpu.Node{Time: smitest.Start}
	k.List(&node, []GPU{oneGPU("c", "03"), oneGPU("c", "04"), oneGPU("c", "03")})
	assert.Equal(t, []string{"c", ""}, smitest.IDs(&node))
	require.Len(t, node.Problems, 2)
	require.ErrorIs(t, node.Problems[0].Err, inventory.ErrSharedID)
	require.ErrorIs(t, node.Problems[1].Err, inventory.ErrListedTwice)
	smitest.RequireValue(t, 2, node.Presence[gpu.Visible], "visible")
}

func TestNotRun(t *testing.T) {
	t.Parallel()
	for err, c := range map[error]struct {
		known, unknown bool // whether there is a node
		reason         gpu.FailureReason
	}{
		command.ErrTimeout:  {true, false, gpu.FailureTimeout},
		command.ErrBusy:     {true, false, gpu.FailureTimeout},
		command.ErrNotFound: {true, true, gpu.FailureToolMissing},
		command.ErrShortage: {true, false, gpu.FailureOther},
		assert.AnError:      {},
	} {
		k := NewKnownGPUs(command.AMDSMI)
		node, failed := k.NotRun(&gpu.Node{}, err)
		assert.Equal(t, c.unknown, failed == nil, err)
		if c.unknown {
			assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, node.Presence)
			assert.Equal(t, c.reason, node.Failure.Reason)
		} else {
			assert.Equal(t, c.reason, gpu.FailureOf(failed).Reason)
		}
		k.List(&gpu.Node{Time: smitest.Start}, []GPU{oneGPU("c", "03")})
		node, failed = k.NotRun(&gpu.Node{}, err)
		assert.Equal(t, c.known, failed == nil, err)
		if c.known {
			assert.Empty(t, node.Devices[0].Faults)
			assert.True(t, node.Devices[0].Unread)
			assert.Equal(t, c.reason, node.Failure.Reason)
		}
	}
}

// The driver is away, which is a failure of the read and of the GPUs.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	k := NewKnownGPUs(command.AMDSMI)
	k.List(&gpu.Node{Time: smitest.Start}, []GPU{oneGPU("c", "03")})
	node := k.NoDevices(&gpu.Node{Time: smitest.Start.Add(smitest.Seconds(30))}, smitext.ErrNoDriver, true)
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, smitest.Faults(&node.Devices[0]))
	assert.Equal(t, gpu.FailureDriver, node.Failure.Reason)
}

func TestNoDevices(t *testing.T) {
	t.Parallel()
	for absent, faults := range map[bool][]gpu.FaultType{true: {gpu.FaultLost}, false: {}} {
		k := NewKnownGPUs(command.AMDSMI)
		node := k.NoDevices(&gpu.Node{Time: smitest.Start}, assert.AnError, absent)
		assert.Empty(t, node.Devices)
		assert.Equal(t, absent, node.Presence[gpu.Visible] == gpu.Some(int64(0)))
		assert.Equal(t, absent, node.Failure == nil)
		k.List(&gpu.Node{Time: smitest.Start}, []GPU{oneGPU("c", "03")})
		k.IDs[smitext.Address{Bus: 3}] = "c"
		node = k.NoDevices(&gpu.Node{Time: smitest.Start.Add(smitest.Seconds(30))}, assert.AnError, absent)
		assert.Equal(t, faults, smitest.Faults(&node.Devices[0]))
		assert.Equal(t, absent, !node.Devices[0].Unread)
		assert.Equal(t, absent, len(k.IDs) == 0, "the ids do not outlive the driver")
	}
}
