// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import "github.com/otelgpu/gpureceiver/internal/gpu"

// decodeAttributes decodes a table of revision 1.9.
func (t *Table) decodeAttributes(text []byte) error {
	all, err := attributes(text)
	if err != nil {
		return err
	}
	var speed, width gpu.Opt[uint64]
	var busy, belowPower, belowThermal, lowUse []gpu.Opt[uint64]
	for i := range all {
		a := &all[i]
		switch a.id {
		case attributeGFXBusy:
			busy = a.values
		case attributeBelowPower:
			belowPower = a.values
		case attributeBelowThermal:
			belowThermal = a.values
		case attributeLowUse:
			lowUse = a.values
		case attributeLinkWidth:
			width = a.first()
		case attributeLinkSpeed:
			speed = a.first()
			if v, ok := speed.Get(); ok && a.unit == unitGTs {
				speed = gpu.Some(v * 10)
			}
		default:
			t.setSensor(a)
			t.setDetail(a)
			t.setCounter(a)
			t.setLinkCounter(a)
		}
	}
	t.setLink(speed, width)
	t.XCCs = newXCCs(busy, belowPower, belowThermal, lowUse)
	return nil
}

func (t *Table) setSensor(a *attribute) {
	switch a.id {
	case attributeHotspot:
		t.Temperature[gpu.SensorHotspot] = temperature(a.first())
	case attributeMemory: // the stacks are preferred, in whatever order the two come
		t.Temperature[gpu.SensorMemory] = t.Temperature[gpu.SensorMemory].Or(memoryTemperature(a.first()))
	case attributeHBM:
		t.Temperature[gpu.SensorMemory] = memoryTemperature(highest(a.values)).Or(t.Temperature[gpu.SensorMemory])
	case attributePower:
		t.CurrentPower = power(a.first())
	case attributeGFXActivity:
		t.GFXActivity = activity(a.first())
	case attributeUMCActivity:
		t.UMCActivity = activity(a.first())
	case attributeJPEGBusy:
		t.JPEG = meanActivity(a.values)
	case attributeVideoBusy:
		t.Video = meanActivity(a.values)
	case attributeGFXClock:
		t.GFXClock = clock(highest(a.values))
	case attributeVideoClock:
		t.VideoClock = clock(highest(a.values))
	case attributeMemoryClock:
		t.MemoryClock = clock(highest(a.values))
	}
}

func (t *Table) setCounter(a *attribute) {
	switch a.id {
	case attributeEnergy:
		t.Energy = a.first()
	case attributeClockCounter:
		t.ClockCounter = a.first()
	case attributeAccumulations:
		t.Accumulations = a.first()
	case attributePartitions:
		t.Partitions = a.first()
	default:
		// The residencies are numbered in the order of residencyFields.
		if a.id >= attributeProchot && a.id <= attributeHBMThermal {
			t.Residencies[a.id-attributeProchot] = a.first()
		}
	}
}

// setDetail sets what single sensors measure.
func (t *Table) setDetail(a *attribute) {
	switch a.id {
	case attributeVRSoC:
		t.addDetail("vr_soc", a.first())
	case attributeHBM:
		t.addDetails("hbm", a.values)
	case attributeMID:
		t.addDetails("mid", a.values)
	case attributeAID:
		t.addDetails("aid", a.values)
	case attributeXCD:
		t.addDetails("xcd", a.values)
	}
}

// setLinkCounter sets what is known of the links to the host and to other GPUs.
func (t *Table) setLinkCounter(a *attribute) {
	switch a.id {
	case attributeReplays:
		t.PCIe.Replays = a.first()
	case attributeRollovers:
		t.PCIe.Rollovers = a.first()
	case attributeRecoveries:
		t.PCIe.Recoveries = a.first()
	case attributeNAKsSent:
		t.PCIe.NAKsSent = a.first()
	case attributeNAKsReceived:
		t.PCIe.NAKsReceived = a.first()
	case attributeXGMIWidth:
		t.XGMIWidth = a.first()
	case attributeXGMISpeed:
		t.XGMISpeed = a.first()
	case attributeXGMIStatus:
		for i := range t.XGMIUp {
			t.XGMIUp[i] = linkUp(a.value(i))
		}
	case attributeXGMIRead:
		setXGMI(a, &t.XGMIRead, &t.XGMIReadSum)
	case attributeXGMIWrite:
		setXGMI(a, &t.XGMIWritten, &t.XGMIWrittenSum)
	}
}

// setXGMI sets the values of the links. One value alone is the sum over all links (SMU 15.0.8), not the value of the first.
func setXGMI(a *attribute, links *[MaxLinks]gpu.Opt[uint64], sum *gpu.Opt[uint64]) {
	if len(a.values) == 1 {
		*sum = a.first()
		return
	}
	for i := range links {
		links[i] = a.value(i)
	}
}
