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
}
