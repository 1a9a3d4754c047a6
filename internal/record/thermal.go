// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

func (p *point) thermal() {
	d, opts := p.device, p.id.gauge()
	for sensor, location := range sensors {
		if v, ok := d.Temperature[sensor].Get(); ok {
			p.mb.RecordHwTemperatureDataPoint(p.ts, v, d.ID, location, opts...)
		}
		for limit, name := range limits {
			if v, ok := d.TemperatureLimit[sensor][limit].Get(); ok {
				p.mb.RecordHwTemperatureLimitDataPoint(p.ts, v, d.ID, name, location, opts...)
			}
		}
	}
	for limit, name := range limits {
		if v, ok := d.TemperatureMargin[limit].Get(); ok {
			p.mb.RecordHwGpuTemperatureMarginDataPoint(p.ts, v, d.ID, name, opts...)
		}
	}
	for _, fan := range d.Fans {
		if v, ok := fan.Ratio.Get(); ok {
			p.mb.RecordHwFanSpeedRatioDataPoint(p.ts, v, d.ID, fan.Location, opts...)
		}
	}
}

func (p *point) power() {
	d, opts := p.device, p.id.gauge()
	if v, ok := d.Power.Draw.Get(); ok {
		p.mb.RecordHwPowerDataPoint(p.ts, v, d.ID, isGPU, opts...)
	}
	if v, ok := d.Power.Instant.Get(); ok {
		p.mb.RecordHwGpuPowerInstantDataPoint(p.ts, v, d.ID, opts...)
	}
	if v, ok := d.Power.Module.Get(); ok {
		p.mb.RecordHwGpuModulePowerDataPoint(p.ts, v, d.ID, opts...)
	}
	for limit, name := range limits {
		if v, ok := d.Power.Limit[limit].Get(); ok {
			p.mb.RecordHwPowerLimitDataPoint(p.ts, v, d.ID, name, isGPU, opts...)
		}
	}
	recordTotal(p, seriesKey{metric: counterEnergy}, d.Energy, func(total float64) {
		p.mb.RecordHwEnergyDataPoint(p.ts, total, d.ID, isGPU, p.id.counter()...)
	})
}
