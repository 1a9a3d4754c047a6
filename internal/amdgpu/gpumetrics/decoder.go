// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var residencyFields = [NumResidencies]fieldID{
	ResidencyProchot:       fieldProchot,
	ResidencyPPT:           fieldPPT,
	ResidencySocketThermal: fieldSocketThermal,
	ResidencyVRThermal:     fieldVRThermal,
	ResidencyHBMThermal:    fieldHBMThermal,
}

// Decoder decodes tables. It may be used by several goroutines.
type Decoder struct {
	layouts   map[revisionSize]*layout
	partition *layout
}

// NewDecoder returns a decoder of all known revisions.
func NewDecoder() *Decoder { return &Decoder{layouts: newLayouts(), partition: newPartitionLayout()} }

// Decode decodes a table. The error wraps ErrRevision or ErrFormat; with ErrRevision the table has its revision alone.
func (d *Decoder) Decode(text []byte) (Table, error) {
	revision, text, err := header("gpu_metrics", text)
	if err != nil {
		return Table{}, err
	}
	t := Table{Revision: revision}
	if revision == (Revision{1, 9}) {
		if err := t.decodeAttributes(text); err != nil {
			return Table{}, fmt.Errorf("gpu_metrics %v: %w", revision, err)
		}
		return t, nil
	}
	l := d.layouts[revisionSize{revision, len(text)}]
	switch {
	case l != nil:
		t.decodeFields(fields{text, l})
		return t, nil
	case hasLayout(d.layouts, revision):
		return Table{}, fmt.Errorf("gpu_metrics %v: %d bytes is not a size of this revision: %w", revision, len(text), ErrFormat)
	default:
		return t, fmt.Errorf("gpu_metrics %v: %w", revision, ErrRevision)
	}
}

// header returns the revision of a table and the table, cut to the size that its header gives.
func header(kind string, text []byte) (Revision, []byte, error) {
	const headerSize = 4
	if len(text) < headerSize {
		return Revision{}, nil, fmt.Errorf("%s of %d bytes: %w", kind, len(text), ErrFormat)
	}
	size := int(binary.LittleEndian.Uint16(text))
	revision := Revision{Format: text[2], Content: text[3]}
	if size < headerSize || size > len(text) {
		return Revision{}, nil, fmt.Errorf("%s %v: its header says %d bytes, the file contains %d: %w", kind, revision, size, len(text), ErrFormat)
	}
	return revision, text[:size], nil
}

func (t *Table) decodeFields(f fields) {
	t.decodeSensors(f)
	t.decodeCounters(f)
	if f.layout.partition == nil {
		return
	}
	t.Partitions = f.uint(fieldPartitions, 0)
	var xccs [MaxPartitions][]XCC
	for i := range t.Activity {
		p := f.partition(i)
		t.Activity[i] = p.activity()
		xccs[i] = newXCCs(p.all(fieldGFXActivity), p.all(fieldBelowPower), p.all(fieldBelowThermal), p.all(fieldLowUse))
	}
	t.XCCs = joinXCCs(xccs[:])
}

func (t *Table) decodeSensors(f fields) {
	t.Temperature[gpu.SensorEdge] = temperature(f.uint(fieldEdge, 0))
	t.Temperature[gpu.SensorHotspot] = temperature(f.uint(fieldHotspot, 0))
	t.Temperature[gpu.SensorMemory] = memoryTemperature(highest(f.all(fieldHBM))).Or(memoryTemperature(f.uint(fieldMemory, 0)))
	t.GFXActivity = activity(f.uint(fieldGFXActivity, 0))
	t.UMCActivity = activity(f.uint(fieldUMCActivity, 0))
	t.JPEG = meanActivity(f.all(fieldJPEG))
	t.Video = meanActivity(f.all(fieldVideo))
	t.AveragePower = power(f.uint(fieldAveragePower, 0))
	t.CurrentPower = power(f.uint(fieldCurrentPower, 0))
	t.socketPower, t.gfxPower = f.uint(fieldSocketPower, 0), f.uint(fieldGFXPower, 0)
	t.GFXClock = clock(highest(f.all(fieldGFXClock)))
	t.MemoryClock = clock(highest(f.all(fieldMemoryClock)))
	t.VideoClock = clock(highest(f.all(fieldVideoClock)))
	t.setLink(f.uint(fieldLinkSpeed, 0), f.uint(fieldLinkWidth, 0))
	t.addDetails("hbm", f.all(fieldHBM))
	for _, sensor := range [...]struct {
		location    string
		temperature fieldID
		voltage     fieldID
	}{
		{"gfx", fieldVRGFX, fieldVoltageGFX}, {"soc", fieldVRSoC, fieldVoltageSoC}, {"mem", fieldVRMemory, fieldVoltageMemory},
	} {
		t.addDetail("vr_"+sensor.location, f.uint(sensor.temperature, 0))
		t.addVoltage(sensor.location, f.uint(sensor.voltage, 0))
	}
}

func (t *Table) decodeCounters(f fields) {
	t.Energy = f.uint(fieldEnergy, 0)
	if units, ok := t.Energy.Get(); ok && units == math.MaxUint32 && t.Revision.Energy32() {
		// The driver writes 32 ones for firmware that does not count, as on Radeon RX 7000 and 9000, whatever the size of the
		// field. A true counter of 32 bits that passes through this value costs a single read.
		t.Energy = gpu.Opt[uint64]{}
	}
	t.ClockCounter = f.uint(fieldClockCounter, 0)
	t.Throttle = f.uint(fieldThrottle, 0)
	t.PCIe = PCIeCounts{
		Replays: f.uint(fieldReplays, 0), Rollovers: f.uint(fieldRollovers, 0), Recoveries: f.uint(fieldRecoveries, 0),
		NAKsSent: f.uint(fieldNAKsSent, 0), NAKsReceived: f.uint(fieldNAKsReceived, 0),
	}
	t.Accumulations = f.uint(fieldAccumulations, 0)
	for i, id := range residencyFields {
		t.Residencies[i] = f.uint(id, 0)
	}
	for i := range t.LimiterCounts {
		t.LimiterCounts[i] = f.uint(fieldLimiterCounts, i)
	}
	t.XGMIWidth, t.XGMISpeed = f.uint(fieldXGMIWidth, 0), f.uint(fieldXGMISpeed, 0)
	for i := range MaxLinks {
		t.XGMIUp[i] = linkUp(f.uint(fieldXGMIStatus, i))
		t.XGMIRead[i] = f.uint(fieldXGMIRead, i)
		t.XGMIWritten[i] = f.uint(fieldXGMIWrite, i)
	}
}
