// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"cmp"
	"maps"
	"math"
	"time"

	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The tools multiply every firmware's count by what their version takes 2^-16 J for, in joules.
const (
	unitExact = counter.EnergyUnitFine
	unitFine  = 15.259e-6
	unitRough = 15.3e-6 // 0.27 % too much, and so is the energy that these versions print
)

const counterRange = 1 << 32 // of a counter of 32 bits

// EnergyTotal returns the total of an energy counter, in joules. 0 is absent: the tools print it for the second die of a package, whose
// first die counts for both. A counter that runs is above 0 before any tool can read it.
func EnergyTotal(j gpu.Opt[float64]) gpu.Counter[float64] {
	v, ok := j.Get()
	if !ok || v == 0 || notCounted(v) {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(v)
}

// notCounted reports whether joules represent the largest number of 32 bits. With it the driver reports that the firmware no longer counts
// (RDNA 3 with later firmware, RDNA 4), and the tools multiply it like any other. They print three digits of a joule or fewer, and
// calculate with 32 bits, which adds another thousandth.
func notCounted(joules float64) bool {
	for _, unit := range [...]float64{unitExact, unitFine, unitRough} {
		none := math.MaxUint32 * unit
		if math.Abs(joules-none) < 0.01 || joules == math.Round(none) {
			return true
		}
	}
	return false
}

// EnergyCounters follow the energy counters of the GPUs, by PCI address, or by ID if the address is missing.
type EnergyCounters map[string]*energyCounter

// Unwrap replaces the values of the firmware's counters with totals that do not fall if a counter wraps.
func (m EnergyCounters) Unwrap(devices []gpu.Device, now time.Time) {
	for i := range devices {
		d := &devices[i]
		key := cmp.Or(d.Info.PCIAddress, d.ID)
		c := m[key]
		joules, ok := d.Energy.Get()
		if !ok {
			if c != nil && d.Power.Draw.Known() { // it has power, and counts on
				c.lastRead = now
			}
			continue
		}
		if c == nil || c.id != "" && d.ID != "" && c.id != d.ID {
			c = &energyCounter{}
			m[key] = c
		}
		c.id = cmp.Or(d.ID, c.id)
		d.Energy = c.read(joules, d, now)
	}
	if len(m) > MaxDevices {
		maps.DeleteFunc(m, func(_ string, c *energyCounter) bool { return !c.lastRead.Equal(now) })
	}
}

// Missed takes note of the GPUs about which the read of now showed nothing. They sleep, are lost or have no driver, and count from 0 when
// they are back.
func (m EnergyCounters) Missed(now time.Time) {
	for _, c := range m {
		if !c.lastRead.Equal(now) {
			c.total.Doubt()
			c.unit.Forget()
		}
	}
}

// energyCounter follows one counter. With much firmware it has 32 bits and wraps, in the finest unit within minutes, after 65,536 J. The
// tools do not show how many bits it has: it is taken to have 32 until it is higher than these allow.
type energyCounter struct {
	id         string    // of the GPU
	lastRead   time.Time // the last read that showed the counter, or that the GPU has power
	unit       counter.EnergyUnit
	total      counter.Wrapping
	rough      bool             // the tool was seen to take the unit for unitRough
	powerLimit gpu.Opt[float64] // W, as it was last read
}

// read returns the joules for what the tool shows of the counter, which are joules only if the firmware counts in the unit that the tool
// assumes.
func (c *energyCounter) read(shown float64, d *gpu.Device, now time.Time) gpu.Counter[float64] {
	const fine, rough = counterRange * unitFine, counterRange * unitRough
	c.lastRead = now
	c.powerLimit = d.Power.Limit[gpu.LimitEnforced].Or(c.powerLimit)
	c.rough = shown < rough && (c.rough || shown > fine)
	wrapsAt := fine // no less than the counter has shown
	if c.rough {
		wrapsAt = rough
	}
	maxPower := counter.MaxPower(c.powerLimit)
	unit, ok := c.unit.Read(d, shown/unitExact, wrapsAt/unitExact, maxPower, now)
	if !ok {
		return gpu.Counter[float64]{}
	}
	scale := unit / unitExact
	return c.total.Read(shown*scale, wrapsAt*scale, maxPower, now)
}
