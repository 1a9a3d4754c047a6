// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

func recordTemperatures(p *devicePoints) {
	for sensor, location := range sensors {
		if v, ok := p.device.Temperature[sensor].Get(); ok {
			p.builder.RecordHwTemperatureDataPoint(p.ts, v, p.device.ID, location, p.identity...)
		}
	}
}

func recordTemperatureLimits(p *devicePoints) {
	for sensor, location := range sensors {
		for limit, name := range limits {
			if v, ok := p.device.TemperatureLimit[sensor][limit].Get(); ok {
				p.builder.RecordHwTemperatureLimitDataPoint(p.ts, v, p.device.ID, name, location, p.identity...)
			}
		}
	}
}

func recordTemperatureMargins(p *devicePoints) {
	for limit, name := range limits {
		if v, ok := p.device.TemperatureMargin[limit].Get(); ok {
			p.builder.RecordHwGpuTemperatureMarginDataPoint(p.ts, v, p.device.ID, name, p.identity...)
		}
	}
}

func recordTemperatureDetail(p *devicePoints) {
	for _, sensor := range p.device.TemperatureDetail {
		if v, ok := sensor.Value.Get(); ok {
			p.builder.RecordHwGpuTemperatureDetailDataPoint(p.ts, v, p.device.ID, sensor.Location, p.identity...)
		}
	}
}

func recordFanSpeeds(p *devicePoints) {
	for _, fan := range p.device.Fans {
		if v, ok := fan.Speed.Get(); ok {
			p.builder.RecordHwGpuFanSpeedDataPoint(p.ts, v, p.device.ID, fan.Location, p.identity...)
		}
	}
}

func recordFans(p *devicePoints) {
	for _, fan := range p.device.Fans {
		if v, ok := fan.Ratio.Get(); ok {
			p.builder.RecordHwFanSpeedRatioDataPoint(p.ts, v, p.device.ID, fan.Location, p.identity...)
		}
	}
}
