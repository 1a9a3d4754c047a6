// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A container that has a part of a GPU has its share; a container that has the whole GPU has no share.
func TestShareOfContainer(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 0)
	m.Containers[0].Sharing, m.Containers[0].Share = gpu.SharingFraction, gpu.Some(0.25)
	f.ConsumeMetrics(m.read(w.now))
	node := onlyNode(t, f)
	require.Len(t, node.GPUs, 2)
	part, whole := node.GPUs[0].Containers[0], node.GPUs[1].Containers[0]
	assert.Equal(t, "fraction", *part.Sharing)
	require.NotNil(t, part.Share)
	assert.InDelta(t, 0.25, *part.Share, 0)
	assert.Nil(t, whole.Share)
}
