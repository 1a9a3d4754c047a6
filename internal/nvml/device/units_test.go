// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestPipeFraction(t *testing.T) {
	for percent, want := range map[float64]gpu.Opt[float64]{
		0: gpu.Some(0.0), 50: gpu.Some(0.5), 100: gpu.Some(1.0), 100.6: gpu.Some(1.0), 105: gpu.Some(1.0),
		105.1: {}, 173: {}, 1e300: {}, math.Inf(1): {}, math.NaN(): {}, -1: {},
	} {
		assert.Equal(t, want, pipeFraction(percent, true), "%v %%", percent)
	}
	assert.False(t, pipeFraction(50, false).Known())
}

func TestByteCounts(t *testing.T) {
	assert.Equal(t, gpu.Some[int64](7), bytes(7))
	assert.False(t, bytes(math.MaxUint64).Known())
	assert.False(t, bytes(math.MaxInt64+1).Known())
}
