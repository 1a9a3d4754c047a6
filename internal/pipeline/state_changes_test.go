// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// While a source cannot be read nothing is known of its GPUs, so that none of them changes its state, and none does when it can be
// read again.
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

	// The driver was unloaded, and a failed GPU was handed to another one.
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
	at := func(d gpu.Device) gpu.Device {
		d.Info.PCIAddress = "0000:13:00.0"
		return d
	}
	for name, away := range map[string]int{"immediately": 0, "after a reset": 2} {
		t.Run(name, func(t *testing.T) {
			var s stateChanges
			changes := s.next(node(at(lost("")), healthy("GPU-1")))
			require.Len(t, changes, 1)
			assert.Equal(t, "n1/0000:13:00.0", changes[0].DeviceID)
			for range away {
				assert.Empty(t, s.next(node(healthy("GPU-1"))))
			}
			changes = s.next(node(at(healthy("GPU-3")), healthy("GPU-1")))
			require.Len(t, changes, 1)
			assert.Equal(t, "n1/0000:13:00.0", changes[0].DeviceID)
			assert.Equal(t, gpu.StateOK, changes[0].State)
			assert.Equal(t, gpu.Some(gpu.StateFailed), changes[0].Previous)
			assert.Contains(t, changes[0].Message, "GPU-3")
			assert.Empty(t, s.next(node(at(healthy("GPU-3")), healthy("GPU-1"))), "once")
		})
	}
}
