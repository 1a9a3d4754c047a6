// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Events that are not taken are bounded: the oldest are dropped.
func TestEventQueueIsBounded(t *testing.T) {
	var q eventQueue
	for i := range maxEvents + 10 {
		q.add(gpu.Event{XID: int64(i)})
	}
	events := q.take()
	require.Len(t, events, maxEvents)
	assert.EqualValues(t, 10, events[0].XID)
	assert.EqualValues(t, maxEvents+9, events[maxEvents-1].XID)
	assert.Empty(t, q.take())
}
