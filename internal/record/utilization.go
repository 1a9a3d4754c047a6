// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

func recordUtilization(p *devicePoints) {
	for task, name := range tasks {
		if v, ok := p.device.Utilization[task].Get(); ok {
			p.builder.RecordHwGpuUtilizationDataPoint(p.ts, v, name, p.device.ID, p.identity...)
		}
	}
}

func recordPipeUtilization(p *devicePoints) {
	for pipe, name := range pipes {
		if v, ok := p.device.Pipes[pipe].Get(); ok {
			p.builder.RecordHwGpuPipeUtilizationDataPoint(p.ts, v, name, p.device.ID, p.identity...)
		}
	}
}

// recordXCCUtilization records how busy each compute core of an AMD GPU was.
func recordXCCUtilization(p *devicePoints) {
	for xcc, value := range p.device.XCCUtilization {
		if v, ok := value.Get(); ok {
			p.builder.RecordHwGpuXccUtilizationDataPoint(p.ts, v, int64(xcc), p.device.ID, p.identity...)
		}
	}
}
