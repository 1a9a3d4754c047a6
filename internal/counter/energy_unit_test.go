// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func drawing(watts float64) *gpu.Device {
	return &gpu.Device{Power: gpu.Power{Draw: gpu.Some(watts)}}
}

func TestKnownEnergyUnits(t *testing.T) {
	for _, tt := range []struct {
		target, model string
		joules        float64 // 0: not known
	}{
		{"gfx908", "", 1},
		{"", "AMD Instinct MI100", 1},
		{"gfx90a", "", 1.0 / 65536},
		{"", "MI210", 1.0 / 65536},
		{"", "Radeon Instinct MI25", 0},
		{"gfx942", "", 1.0 / 65536},
		{"", "AMD Instinct MI308X", 1.0 / 65536},
		{"gfx950", "", 1.0 / 65536},
		{"gfx1030", "AMD Radeon RX 6900 XT", 1e-3},
		{"gfx1031", "AMD Radeon RX 6700 XT", 0},
		{"gfx906", "AMD Instinct MI50", 0},
		{"gfx1100", "MI100", 0},
		{"", "", 0},
	} {
		d := &gpu.Device{Model: tt.model, Info: gpu.Info{ComputeCapability: tt.target}}
		joules, ok := new(EnergyUnit).Known(d)
		assert.Equal(t, tt.joules > 0, ok, "%s %s", tt.target, tt.model)
		assert.InDelta(t, tt.joules, joules, 0)
	}
}

// TestEnergyUnitByThePower: a unit that is not known is that by which the counter rises as the power says.
func TestEnergyUnitByThePower(t *testing.T) {
	for name, tt := range map[string]struct {
		perJoule, off float64
		found         float64
	}{
		"fine":                 {65536, 1, 1.0 / 65536},
		"milli":                {1000, 1, 1e-3},
		"coarse":               {1, 1, 1},
		"the power fluctuates": {1000, 1.9, 1e-3},
		"another unit":         {65536, 8, 0},
		"it does not count":    {0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var u EnergyUnit
			for i := range 10 {
				joules, ok := u.Read(drawing(36), 1000+float64(i)*5*36*tt.off*tt.perJoule, 1<<32, 450, start.Add(time.Duration(i)*5*time.Second))
				assert.Equal(t, i >= 2 && tt.found > 0, ok, "read %d", i)
				if ok {
					assert.InDelta(t, tt.found, joules, 0)
				}
			}
		})
	}
}

// TestEnergyUnitOfWhatWasMissed: reads between which something was missed show nothing.
func TestEnergyUnitOfWhatWasMissed(t *testing.T) {
	const wrapsAt = 1 << 32
	read := func(u *EnergyUnit, second int, counts float64) bool {
		_, ok := u.Read(drawing(300), counts, wrapsAt, 450, start.Add(time.Duration(second)*time.Second))
		return ok
	}
	for name, tt := range map[string]struct {
		later  int
		counts float64
		forget bool
	}{
		"it may have wrapped unseen": {later: 200, counts: 1000 + 200*300*1000},
		"it fell":                    {later: 30, counts: 10},
		"it slept":                   {later: 30, counts: 1000 + 30*300*1000, forget: true},
		"the clock was set back":     {later: -30, counts: 1000 + 30*300*1000},
	} {
		t.Run(name, func(t *testing.T) {
			var u EnergyUnit
			assert.False(t, read(&u, 0, 1000))
			if tt.forget {
				u.Forget()
			}
			assert.False(t, read(&u, tt.later, tt.counts))
			assert.True(t, read(&u, tt.later+10, tt.counts+10*300*1000))
			u.Forget()
			assert.True(t, read(&u, 0, 0), "it was found")
		})
	}
	var u EnergyUnit
	assert.False(t, read(&u, 0, 2*wrapsAt))
	assert.True(t, read(&u, 3600, 2*wrapsAt+3600*300*65536), "a counter above 32 bits does not wrap")
	u = EnergyUnit{}
	assert.False(t, read(&u, 0, 0))
	u.Read(&gpu.Device{}, 0, wrapsAt, 450, start.Add(5*time.Second))
	assert.False(t, read(&u, 10, 10*300*1000), "the power was not read between")
}
