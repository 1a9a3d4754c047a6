// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"cmp"
	"math"
	"time"

	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The tools multiply the firmware's count, which is in 2^-16 J, by what their version takes its unit for.
const (
	unitExact = 1.0 / 65536 // J
	unitFine  = 15.259e-6
	unitRough = 15.3e-6 // 0.27 % too much, as are the joules of these versions
)

const wrapUnits = 1 << 32 // of a counter of 32 bits

// EnergyTotal is an energy counter. The tools print 0 for the second die of a package, whose first die counts for both; a
// counter that runs is above 0 before any tool can ask it.
func EnergyTotal(j gpu.Opt[float64]) gpu.Counter[float64] {
	v, ok := j.Get()
	if !ok || v == 0 || notCounted(v) {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(v)
}

// notCounted tells the largest number of 32 bits, with which the driver says that the firmware does not count any more
// (RDNA 3 with later firmware, RDNA 4), and which the tools multiply like any other. They print three digits of a joule or fewer, and
// calculate with 32 bits, which is another thousandth.
func notCounted(joules float64) bool {
	for _, unit := range [...]float64{unitExact, unitFine, unitRough} {
		none := math.MaxUint32 * unit
		if math.Abs(joules-none) < 0.01 || joules == math.Round(none) {
			return true
		}
	}
	return false
}

// EnergyCounters follow the energy counters of the GPUs, by PCI address, else by ID.
type EnergyCounters map[string]*energyCounter

// Unwrap replaces what the firmware's counters show by totals that do not fall where a counter wraps.
func (m EnergyCounters) Unwrap(devices []gpu.Device, now time.Time) {
	for i := range devices {
		d := &devices[i]
		key := cmp.Or(d.Info.PCIAddress, d.ID)
		a := m[key]
		joules, ok := d.Energy.Get()
		if !ok {
			if a != nil && d.Power.Draw.Known() { // it has power
				a.at = now
			}
			continue
		}
		if a == nil || a.id != "" && d.ID != "" && a.id != d.ID {
			a = &energyCounter{}
			m[key] = a
		}
		a.id = cmp.Or(d.ID, a.id)
		d.Energy = a.read(joules, d.Power.Limit[gpu.LimitMax], now)
	}
	if len(m) > MaxDevices {
		for key, a := range m {
			if !a.at.Equal(now) {
				delete(m, key)
			}
		}
	}
}

// Missed takes note of the GPUs that the read of now told nothing of: they sleep, are lost or have no driver, and count from 0 when
// they are back.
func (m EnergyCounters) Missed(now time.Time) {
	for _, a := range m {
		if !a.at.Equal(now) {
			a.meter.Doubt()
		}
	}
}

// energyCounter follows one counter. Much firmware has 32 bits of it, which wrap after 65,536 J: within minutes. Which counters have
// 32 bits the tools do not tell: one is taken for such as long as it shows no more than they can.
type energyCounter struct {
	id    string    // of the GPU
	at    time.Time // of the last read that told of it
	meter counter.Wrapping
	rough bool // the tool was seen to take the unit for unitRough
	// capacity is the cap that was last told.
	capacity gpu.Opt[float64]
}

// read returns the joules by what the counter shows. capacity is the most that the board may draw, in watts, where this
// read tells it.
func (a *energyCounter) read(joules float64, capacity gpu.Opt[float64], now time.Time) gpu.Counter[float64] {
	const fine, rough = wrapUnits * unitFine, wrapUnits * unitRough
	a.at = now
	a.capacity = capacity.Or(a.capacity)
	a.rough = joules < rough && (a.rough || joules > fine)
	turn := fine // no less than the counter has shown
	if a.rough {
		turn = rough
	}
	return a.meter.Read(joules, turn, counter.MaxPower(a.capacity), now)
}
