// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import "github.com/otelgpu/gpureceiver/internal/metadata"

func recordPower(p *devicePoints) {
	if v, ok := p.device.Power.Draw.Get(); ok {
		p.builder.RecordHwPowerDataPoint(p.ts, v, p.device.ID, hwTypeGPU, p.identity...)
	}
}

func recordPowerLimits(p *devicePoints) {
	for limit, name := range limits {
		if v, ok := p.device.Power.Limit[limit].Get(); ok {
			p.builder.RecordHwPowerLimitDataPoint(p.ts, v, p.device.ID, name, hwTypeGPU, p.identity...)
		}
	}
}

func recordEnergy(p *devicePoints) {
	recordTotal(p, seriesKey{counter: counterEnergy}, p.device.Energy, func(total float64, options ...metadata.MetricAttributeOption) {
		p.builder.RecordHwEnergyDataPoint(p.ts, total, p.device.ID, hwTypeGPU, options...)
	})
}

func recordVoltages(p *devicePoints) {
	for _, sensor := range p.device.Voltage {
		if v, ok := sensor.Value.Get(); ok {
			p.builder.RecordHwVoltageDataPoint(p.ts, v, p.device.ID, sensor.Location, p.identity...)
		}
	}
}
