// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package gpumetrics decodes the gpu_metrics tables of the amdgpu driver, which the driver fills from what the GPU's firmware
// reports. The kernel documents their revisions in drivers/gpu/drm/amd/include/kgd_pp_interface.h.
package gpumetrics

import (
	"errors"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// MaxLinks is the largest number of XGMI links in a table.
	MaxLinks = 8
	// MaxPartitions is the largest number of partitions in a table.
	MaxPartitions = 8
	// maxPartitionXCCs is the largest number of XCCs of a partition in a table.
	maxPartitionXCCs = 8
	// MaxXCCs is the largest number of XCCs in a table.
	MaxXCCs = MaxPartitions * maxPartitionXCCs
)

var (
	// ErrFormat is reported for a table that does not have the form of its revision.
	ErrFormat = errors.New("malformed table")
	// ErrRevision is reported for a table of a revision that is not known here.
	ErrRevision = errors.New("unknown revision; values that only this table contains are absent")
)

// Revision is the version of a table: 1.x of discrete GPUs, 2.x and 3.x of APUs.
type Revision struct{ Format, Content uint8 }

// Energy32 reports whether most firmware with this revision has an energy counter of 32 bits, whatever the size of the field.
func (r Revision) Energy32() bool { return r.Format == 1 && r.Content <= 3 }

// APU reports whether the revision is for APUs whose graphics memory is a part of the machine's. MI300A has revisions of discrete GPUs.
func (r Revision) APU() bool { return r.Format >= 2 }

func (r Revision) String() string { return fmt.Sprintf("v%d.%d", r.Format, r.Content) }

// Table is a decoded gpu_metrics table. A field that the driver does not support has all bits set in the table and is absent here.
type Table struct {
	Revision Revision

	Temperature [gpu.NumSensors]gpu.Opt[float64] // °C
	// Details are the temperatures of stacks of memory, dies and voltage regulators in °C, and Voltages are in V.
	Details, Voltages []gpu.SensorValue

	GFXActivity gpu.Opt[float64] // fraction of time
	UMCActivity gpu.Opt[float64] // fraction of time in which the memory controller was busy
	JPEG        gpu.Opt[float64] // fraction of time, the mean of the engines
	// Video is the activity of the engines that encode and decode (VCN, UVD) as a fraction of time: their mean, in tables up to 1.3 the
	// activity of the busier one. Drivers write 0 for GPUs whose firmware does not report it: MI200.
	Video gpu.Opt[float64]

	AveragePower, CurrentPower gpu.Opt[float64] // W
	socketPower, gfxPower      gpu.Opt[uint64]  // of an APU, see GFXPower
	Energy                     gpu.Opt[uint64]  // in a unit that the table does not give (counter.EnergyUnit)
	ClockCounter               gpu.Opt[uint64]  // ns, the driver's clock when the table was made

	GFXClock, MemoryClock, VideoClock gpu.Opt[float64] // Hz

	Throttle      gpu.Opt[uint64]                 // indep_throttle_status: the bits SMU_THROTTLER_*_BIT
	Accumulations gpu.Opt[uint64]                 // how often the firmware checked its limiters
	Residencies   [NumResidencies]gpu.Opt[uint64] // how often it found each of them active
	// LimiterCounts rise while a limiter of an APU is active, at a pace that is not documented.
	LimiterCounts [NumAPULimiters]gpu.Opt[uint64]
	LinkGen       gpu.Opt[int64] // PCIe generation
	LinkWidth     gpu.Opt[int64] // PCIe lanes
	PCIe          PCIeCounts
	XGMIWidth     gpu.Opt[uint64]           // lanes of each link
	XGMISpeed     gpu.Opt[uint64]           // Gbit/s of each lane
	XGMIUp        [MaxLinks]gpu.Opt[bool]   // absent also for links that the GPU does not have
	XGMIRead      [MaxLinks]gpu.Opt[uint64] // KiB
	XGMIWritten   [MaxLinks]gpu.Opt[uint64] // KiB
	// XGMIReadSum and XGMIWrittenSum are KiB over all links, of tables that have no values of the links.
	XGMIReadSum, XGMIWrittenSum gpu.Opt[uint64]
	Partitions                  gpu.Opt[uint64] // number of compute partitions
	Activity                    [MaxPartitions]PartitionActivity
	XCCs                        []XCC // by number
}

// PartitionActivity is how busy one partition is, as fractions of time.
type PartitionActivity struct{ GFX, JPEG, Video gpu.Opt[float64] }

// PCIeCounts are what went wrong on the link to the host.
type PCIeCounts struct{ Replays, Rollovers, Recoveries, NAKsSent, NAKsReceived gpu.Opt[uint64] }

// XCC is one accelerator complex die.
type XCC struct {
	Busy gpu.Opt[float64] // fraction of time
	// How often the firmware found its clock below the limit of the host because of power and because of heat, and low because there was
	// little to do, of Table.Accumulations.
	BelowPower, BelowThermal, LowUse gpu.Opt[uint64]
}

// Residency is a limiter whose activity the firmware counts.
type Residency int

// The limiters, in the order of the tables.
const (
	ResidencyProchot Residency = iota
	ResidencyPPT
	ResidencySocketThermal
	ResidencyVRThermal
	ResidencyHBMThermal
	NumResidencies
)

// APULimiter is a limiter of an APU that the firmware counts.
type APULimiter int

// The limiters, in the order of the table of revision 3.0.
const (
	LimiterProchot APULimiter = iota
	LimiterSPL
	LimiterFPPT
	LimiterSPPT
	LimiterThermalCore
	LimiterThermalGFX
	LimiterThermalSoC
	NumAPULimiters
)

// GFXPower returns the power of the GPU's part of an APU in W. Tables 2.x have mW or W, by the ASIC. Their power of the socket, which the
// driver also gives in a known unit, shows which: whole is that in W.
func (t *Table) GFXPower(whole gpu.Opt[float64]) gpu.Opt[float64] {
	const milli, between = 1000, 30 // the two readings of the package are not of one moment
	gfx, ok := t.gfxPower.Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	unit := 1.0 / milli
	if t.Revision.Format == 2 {
		socket, hasSocket := t.socketPower.Get()
		watts, known := whole.Get()
		if !hasSocket || !known || watts == 0 {
			return gpu.Opt[float64]{}
		}
		if float64(socket) < between*watts {
			unit = 1
		}
	}
	return plausible.Power(float64(gfx) * unit)
}

// setLink sets the PCIe link from its speed in 0.1 GT/s and its lanes.
func (t *Table) setLink(speed, width gpu.Opt[uint64]) {
	if v, ok := speed.Get(); ok {
		t.LinkGen = plausible.PCIeGeneration(v)
	}
	if v, ok := width.Get(); ok {
		t.LinkWidth = plausible.PCIeWidth(v)
	}
}
