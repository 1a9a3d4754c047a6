// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// While a source cannot be read nothing is known of its GPUs, so that their states do not change, and they do not change when the source
// can be read again.
func TestStatesOutlastAFailedRead(t *testing.T) {
	failure := &gpu.Failure{Reason: gpu.FailureToolMissing, Err: errors.New("no such file")}
	unread := healthy("GPU-2")
	unread.Unread = true
	for name, node := range map[string]*gpu.Node{"unread": nodeOf(unread, healthy("GPU-1")), "not there": nodeOf()} {
		t.Run(name, func(t *testing.T) {
			var s stateChanges
			node.Failure = failure
			assert.Empty(t, s.next(nodeOf()))
			assert.Len(t, s.next(nodeOf(healthy("GPU-1"), lost("GPU-2"))), 1)
			for range 3 {
				assert.Empty(t, s.next(node))
			}
			assert.Empty(t, s.next(nodeOf(healthy("GPU-1"), lost("GPU-2"))), "as it was before")
			assert.Empty(t, s.next(node))
			changes := s.next(nodeOf(healthy("GPU-1"), healthy("GPU-2")))
			require.Len(t, changes, 1)
			assert.Equal(t, gpu.Some(gpu.StateFailed), changes[0].Previous)
		})
	}
	var s stateChanges
	assert.Empty(t, s.next(&gpu.Node{Failure: failure}), "the first read")

	// The driver was unloaded, and a failed GPU was bound to another one.
	away := nodeOf(lost("GPU-1"))
	away.Failure = failure
	assert.Len(t, s.next(nodeOf(healthy("GPU-1"), lost("GPU-2"))), 1)
	assert.Len(t, s.next(away), 1)
	changes := s.next(nodeOf(healthy("GPU-1"), healthy("GPU-2")))
	require.Len(t, changes, 1)
	assert.Equal(t, "GPU-1", changes[0].DeviceID)
}

// A GPU that was lost before its ID could be read has a placeholder. When it comes back with its ID the placeholder's state ends.
func TestPlaceholderEnds(t *testing.T) {
	node := func(devices ...gpu.Device) *gpu.Node {
		n := nodeOf(devices...)
		n.Host.NodeName = "n1"
		n.CompleteIDs()
		return n
	}
	deviceAt := func(d gpu.Device) gpu.Device {
		d.Info.PCIAddress = "0000:13:00.0"
		return d
	}
	for name, away := range map[string]int{"immediately": 0, "after a reset": 2} {
		t.Run(name, func(t *testing.T) {
			var s stateChanges
			changes := s.next(node(deviceAt(lost("")), healthy("GPU-1")))
			require.Len(t, changes, 1)
			assert.Equal(t, "n1/0000:13:00.0", changes[0].DeviceID)
			for range away {
				assert.Empty(t, s.next(node(healthy("GPU-1"))))
			}
			changes = s.next(node(deviceAt(healthy("GPU-3")), healthy("GPU-1")))
			require.Len(t, changes, 1)
			assert.Equal(t, "n1/0000:13:00.0", changes[0].DeviceID)
			assert.Equal(t, gpu.StateOK, changes[0].State)
			assert.Equal(t, gpu.Some(gpu.StateFailed), changes[0].Previous)
			assert.Contains(t, changes[0].Message, "GPU-3")
			assert.Empty(t, s.next(node(deviceAt(healthy("GPU-3")), healthy("GPU-1"))), "once")
		})
	}
}

// An event has how long the previous state lasted if the receiver saw it start, the faults, what the driver requests, and the holders of
// the GPU.
func TestStatusSaysWhy(t *testing.T) {
	start := time.Unix(1000, 0)
	nodeAt := func(seconds int, d gpu.Device) *gpu.Node {
		n := nodeOf(d)
		n.Time = start.Add(time.Duration(seconds) * time.Second)
		return n
	}
	requesting := lost("GPU-1")
	requesting.RecoveryAction = gpu.Some(gpu.RecoveryReboot)
	var s stateChanges
	assert.Empty(t, s.next(nodeAt(0, healthy("GPU-1"))))
	failed := s.next(nodeAt(10, requesting))
	require.Len(t, failed, 1)
	assert.Equal(t, gpu.Opt[time.Duration]{}, failed[0].Lasted, "it was well before the first read")
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, failed[0].Faults)
	assert.Equal(t, gpu.Some(gpu.RecoveryReboot), failed[0].RecoveryAction)
	assert.Empty(t, s.next(nodeAt(20, requesting)))
	well := s.next(nodeAt(40, healthy("GPU-1")))
	require.Len(t, well, 1)
	assert.Equal(t, gpu.Some(30*time.Second), well[0].Lasted)
	assert.Empty(t, well[0].Faults)
	again := s.next(nodeAt(100, requesting))
	require.Len(t, again, 1)
	assert.Equal(t, gpu.Some(time.Minute), again[0].Lasted)
	back := s.next(nodeAt(50, healthy("GPU-1")))
	require.Len(t, back, 1)
	assert.Equal(t, gpu.Opt[time.Duration]{}, back[0].Lasted, "the clock was set back")
}

// A GPU that fails names the containers that held and used it at the read before.
func TestStatusSaysWhoHadTheGPU(t *testing.T) {
	p := New(Options{Logger: zap.NewNop(), Events: true})
	c := &gpu.Container{Namespace: "team", PodName: "train-0", Name: "main"}
	well := nodeOf(healthy("GPU-1"))
	well.Devices[0].HoldersKnown, well.Devices[0].Holders = true, []gpu.Holder{{Container: c}}
	p.Take(t.Context(), well)
	p.Take(t.Context(), nodeOf(lost("GPU-1")))
	events := p.TakeEvents()
	require.Len(t, events, 1)
	assert.Equal(t, []*gpu.Container{c}, events[0].Holders)
}

// placeholderNode is a node whose GPUs have their IDs completed, at a time in seconds.
func placeholderNode(seconds int, devices ...gpu.Device) *gpu.Node {
	n := nodeOf(devices...)
	n.Host.NodeName, n.Time = "n1", time.Unix(int64(seconds), 0)
	n.CompleteIDs()
	return n
}

// lostAt is a lost GPU without ID.
func lostAt(address string) gpu.Device {
	d := lost("")
	d.Info.PCIAddress = address
	return d
}

// A placeholder that was away and comes back in the same state has not changed it.
func TestPlaceholderComesBack(t *testing.T) {
	var s stateChanges
	require.Len(t, s.next(placeholderNode(0, lostAt("0000:13:00.0"), healthy("GPU-1"))), 1)
	assert.Empty(t, s.next(placeholderNode(10, healthy("GPU-1"))))
	assert.Empty(t, s.next(placeholderNode(20, lostAt("0000:13:00.0"), healthy("GPU-1"))), "it was reported")
	assert.Empty(t, s.ended)
}

// Placeholders that do not come back are forgotten after a day.
func TestPlaceholdersAreForgotten(t *testing.T) {
	var s stateChanges
	for i := range maxEnded + 10 {
		require.Len(t, s.next(placeholderNode(i, lostAt(fmt.Sprintf("0000:%02x:00.0", i)), healthy("GPU-1"))), 1)
	}
	day := int(endedPeriod.Seconds())
	assert.Len(t, s.ended, maxEnded)
	assert.Empty(t, s.next(placeholderNode(day, healthy("GPU-1"))))
	assert.NotEmpty(t, s.ended)
	assert.Empty(t, s.next(placeholderNode(2*day+maxEnded+20, healthy("GPU-1"))))
	assert.Empty(t, s.ended)
	require.Len(t, s.next(placeholderNode(2*day+maxEnded+30, lostAt("0000:00:00.0"), healthy("GPU-1"))), 1)
}
