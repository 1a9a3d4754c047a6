// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The units of the energy counters of AMD's firmware, in joules. The driver reports the raw count, and AMD's tools multiply every count by
// EnergyUnitFine.
const (
	EnergyUnitFine   = 1.0 / 65536 // which AMD rounds to 15.259 µJ
	energyUnitMilli  = 1e-3
	energyUnitCoarse = 1.0
)

// energyUnits are the known units: from tables of metrics that were read twice, and since gfx942 from the kernel's kgd_pp_interface.h. If
// the target of a GPU is unknown, its model decides.
var energyUnits = [...]struct {
	target, model string
	joules        float64
}{
	{"gfx908", "MI100", energyUnitCoarse},
	{"gfx90a", "MI210", EnergyUnitFine},
	{"gfx90a", "MI250", EnergyUnitFine},
	{"gfx94", "MI30", EnergyUnitFine},
	{"gfx94", "MI325", EnergyUnitFine},
	{"gfx95", "MI35", EnergyUnitFine},
	{"gfx1030", "Navi 21", energyUnitMilli},
}

// knownEnergyUnit returns the unit of a GPU's energy counter in joules; false if it is not known.
func knownEnergyUnit(d *gpu.Device) (float64, bool) {
	for _, u := range energyUnits {
		target := d.Info.ComputeCapability
		if target != "" && strings.HasPrefix(target, u.target) || target == "" && strings.Contains(d.Model, u.model) {
			return u.joules, true
		}
	}
	return 0, false
}

// What must be seen of a counter before its unit is taken from it. The units are far apart, so little is enough.
const (
	minUnitTime   = 10 * time.Second
	minUnitCounts = 16
	maxUnitRatio  = 2.0 // between the energy by the counter and that by the power
)

// EnergyUnit finds the unit of one energy counter of AMD's firmware. If it is not known for the GPU, it is the unit in which the counter
// has risen by as much as the power says. The zero EnergyUnit has read nothing.
type EnergyUnit struct {
	joules float64 // 0: not found

	counts, watts float64 // at the last read
	lastRead      time.Time
	// What was seen since the counter was first read.
	counted, drawn float64
	duration       time.Duration
}

// Known returns the unit in joules; false if it is not known yet.
func (u *EnergyUnit) Known(d *gpu.Device) (float64, bool) {
	if u.joules == 0 {
		u.joules, _ = knownEnergyUnit(d)
	}
	return u.joules, u.joules > 0
}

// Read returns the unit in joules; false if it is not known yet. counts is the value of the counter, and wrapsAt the count at which
// it starts at 0 again; 0 if it does not. maxPower is the most that the GPU can draw.
func (u *EnergyUnit) Read(d *gpu.Device, counts, wrapsAt, maxPower float64, now time.Time) (float64, bool) {
	if joules, ok := u.Known(d); ok {
		return joules, true
	}
	watts, ok := d.Power.Draw.Get()
	if !ok {
		u.Forget()
		return 0, false
	}
	elapsed := now.Sub(u.lastRead)
	// A counter in the finest unit may have wrapped unseen.
	missed := counts < wrapsAt && maxPower*elapsed.Seconds() > wrapsAt*EnergyUnitFine
	if u.lastRead.IsZero() || elapsed < 0 || counts < u.counts || missed {
		u.Forget()
	} else {
		u.duration += elapsed
		u.counted += counts - u.counts
		u.drawn += (watts + u.watts) / 2 * elapsed.Seconds()
	}
	u.counts, u.watts, u.lastRead = counts, watts, now
	if u.duration < minUnitTime || u.counted < minUnitCounts {
		return 0, false
	}
	for _, joules := range [...]float64{EnergyUnitFine, energyUnitMilli, energyUnitCoarse} {
		if e := u.counted * joules; e <= u.drawn*maxUnitRatio && u.drawn <= e*maxUnitRatio {
			u.joules = joules
		}
	}
	return u.joules, u.joules > 0
}

// Forget forgets what was seen, because something was missed since the last read. A unit that was found stays.
func (u *EnergyUnit) Forget() { *u = EnergyUnit{joules: u.joules} }
