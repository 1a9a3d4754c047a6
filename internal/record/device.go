// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

const isGPU = metadata.AttributeHwTypeGpu

// info records what describes the device.
func (p *point) info() {
	p.mb.RecordHwGpuInfoDataPoint(p.ts, 1, p.device.ID, p.id.description...)
}

// health records the state, one point for each that there can be, and why it is what it is.
func (p *point) health() {
	d, opts := p.device, p.id.gauge()
	state := d.State()
	for s, name := range states {
		p.mb.RecordHwStatusDataPoint(p.ts, flag(state == gpu.State(s)), d.ID, name, isGPU, opts...)
	}
	for _, fault := range d.Faults {
		p.mb.RecordHwGpuFaultDataPoint(p.ts, 1, faultTypes[fault.Type], d.ID, opts...)
	}
	if asked, ok := d.RecoveryAction.Get(); ok {
		p.mb.RecordHwGpuRecoveryActionDataPoint(p.ts, 1, recoveryActions[asked], d.ID, opts...)
	}
}

func (p *point) utilization() {
	d, opts := p.device, p.id.gauge()
	for task, name := range tasks {
		if v, ok := d.Utilization[task].Get(); ok {
			p.mb.RecordHwGpuUtilizationDataPoint(p.ts, v, name, d.ID, opts...)
		}
	}
	if v, ok := d.MemoryController.Get(); ok {
		p.mb.RecordHwGpuMemoryControllerUtilizationDataPoint(p.ts, v, d.ID, opts...)
	}
	for pipe, name := range pipes {
		if v, ok := d.Pipes[pipe].Get(); ok {
			p.mb.RecordHwGpuPipeUtilizationDataPoint(p.ts, v, name, d.ID, opts...)
		}
	}
	if v, ok := d.Occupancy.Get(); ok {
		p.mb.RecordHwGpuSmOccupancyDataPoint(p.ts, v, d.ID, opts...)
	}
}

func (p *point) clocks() {
	d, opts := p.device, p.id.gauge()
	for domain, name := range clockDomains {
		clock := &d.Clocks[domain]
		if v, ok := clock.Speed.Get(); ok {
			p.mb.RecordHwGpuSpeedDataPoint(p.ts, int64(v), name, d.ID, opts...)
		}
		if v, ok := clock.Limit.Get(); ok {
			p.mb.RecordHwGpuSpeedLimitDataPoint(p.ts, int64(v), name, d.ID, metadata.AttributeHwLimitTypeMax, opts...)
		}
	}
	for reason, name := range throttleReasons {
		throttle := &d.Throttle[reason]
		if v, ok := throttle.Active.Get(); ok {
			p.mb.RecordHwGpuThrottledDataPoint(p.ts, flag(v), name, d.ID, opts...)
		}
		recordTotal(p, seriesKey{metric: counterThrottleTime, kind: uint8(reason)}, throttle.Time, func(total float64) {
			p.mb.RecordHwGpuThrottleTimeDataPoint(p.ts, total, name, d.ID, p.id.counter()...)
		})
	}
	if v, ok := d.PerformanceState.Get(); ok {
		p.mb.RecordHwGpuPerformanceStateDataPoint(p.ts, v, d.ID, opts...)
	}
}

// flag is a truth as the number that a state's metric has.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
