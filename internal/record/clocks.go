// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import "github.com/otelgpu/gpureceiver/internal/metadata"

func recordClockSpeeds(p *devicePoints) {
	for domain, name := range clockDomains {
		if v, ok := p.device.Clocks[domain].Speed.Get(); ok {
			p.builder.RecordHwGpuSpeedDataPoint(p.ts, int64(v), name, p.device.ID, p.identity...)
		}
	}
}

func recordClockLimits(p *devicePoints) {
	for domain, name := range clockDomains {
		if v, ok := p.device.Clocks[domain].Limit.Get(); ok {
			p.builder.RecordHwGpuSpeedLimitDataPoint(p.ts, int64(v), name, p.device.ID, metadata.AttributeHwLimitTypeMax, p.identity...)
		}
	}
}

func recordThrottled(p *devicePoints) {
	for reason, name := range throttleReasons {
		if v, ok := p.device.Throttle[reason].Active.Get(); ok {
			p.builder.RecordHwGpuThrottledDataPoint(p.ts, flag(v), name, p.device.ID, p.identity...)
		}
	}
}

func recordThrottleTimes(p *devicePoints) {
	for reason, name := range throttleReasons {
		key := seriesKey{counter: counterThrottleTime, kind: uint8(reason)}
		recordTotal(p, key, p.device.Throttle[reason].Time, func(total float64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuThrottleTimeDataPoint(p.ts, total, name, p.device.ID, options...)
		})
	}
}
