// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package plausible

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestPCIeWidth(t *testing.T) {
	assert.False(t, PCIeWidth(0).Known())
	assert.False(t, PCIeWidth(255).Known())
	assert.False(t, PCIeWidth(65535).Known())
	assert.Equal(t, gpu.Some[int64](8), PCIeWidth(8))
}

func TestBounds(t *testing.T) {
	assert.Equal(t, gpu.Some(110.0), Temperature(110))
	assert.False(t, Temperature(255).Known())
	assert.False(t, Temperature(math.NaN()).Known())
	assert.False(t, Temperature(-1).Known())
	assert.False(t, Temperature(-1.0/1000).Known(), "of a file")
	assert.Equal(t, gpu.Some(-5.0), Temperature(-5), "it is cold outside")
	assert.Equal(t, gpu.Some(0.0), Temperature(0))
	assert.False(t, MemoryTemperature(0).Known())
	assert.False(t, MemoryTemperature(-1).Known())
	assert.False(t, MemoryTemperature(255).Known())
	assert.Equal(t, gpu.Some(31.0), MemoryTemperature(31))
	assert.False(t, TemperatureLimit(0).Known())
	assert.Equal(t, gpu.Some(0.0), Power(0))
	assert.False(t, PowerLimit(0).Known())
	assert.False(t, Power(65_535).Known())
	assert.False(t, Fraction(1.01).Known())
	assert.False(t, Clock(65_535e6).Known())
	assert.Equal(t, gpu.Some[int64](0), Bytes(0))
	assert.False(t, Bytes(math.MaxUint64).Known())
	assert.False(t, PCIeGeneration(0).Known())
	assert.Equal(t, gpu.Some(0.75), Voltage(0.75))
	assert.False(t, Voltage(0).Known())
	assert.False(t, Voltage(65.535).Known())
	assert.Equal(t, gpu.Some[int64](0), Revolutions(0), "a fan may stand still")
	assert.False(t, Revolutions(-1).Known())
	assert.False(t, Revolutions(math.MaxUint32).Known())
}
