// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestIdentityOfInstances(t *testing.T) {
	parent := &Identity{ID: "GPU-aa", Name: "nvidia2"}
	for _, tt := range []struct {
		uuid, id, name string
		gi, ci         gpu.Opt[int]
	}{
		{"MIG-bb", "MIG-bb", "nvidia2/gi3/ci1", gpu.Some(3), gpu.Some(1)},
		{"MIG-bb", "MIG-bb", "", gpu.Opt[int]{}, gpu.Some(1)},
		{"MIG-GPU-aa/3/1", "GPU-aa/3/1", "nvidia2/gi3/ci1", gpu.Some(3), gpu.Some(1)},
		{"", "GPU-aa/3/1", "nvidia2/gi3/ci1", gpu.Some(3), gpu.Some(1)},
		{"", "", "", gpu.Opt[int]{}, gpu.Opt[int]{}},
	} {
		i := Identity{GPUInstance: tt.gi, ComputeInstance: tt.ci}
		i.place(tt.uuid, parent)
		assert.Equal(t, [2]string{tt.id, tt.name}, [2]string{i.ID, i.Name})
	}
	assert.Equal(t, "1c.3g.40gb", migProfile("NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb"))
	assert.Empty(t, migProfile("NVIDIA H100 80GB HBM3"))
}
