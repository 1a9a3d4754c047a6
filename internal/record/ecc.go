// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// recordMemoryErrors records the ECC errors since the driver was loaded, of SRAM apart from DRAM.
func recordMemoryErrors(p *devicePoints) {
	for memory, counts := range p.device.ECC.Memory {
		for kind, count := range counts {
			key := seriesKey{counter: counterECCMemory, kind: uint8(kind), number: int64(memory)}
			recordTotal(p, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
				p.builder.RecordHwGpuEccMemoryErrorsDataPoint(p.ts, total, errorTypes[kind], memoryTypes[memory], p.device.ID, options...)
			})
		}
	}
}

// recordLocationErrors records the ECC errors since manufacture, by the memory that counted them.
func recordLocationErrors(p *devicePoints) {
	for _, e := range p.device.ECC.Locations {
		key := seriesKey{counter: counterECCLocations, kind: uint8(e.Type), number: int64(e.Location)}
		recordTotal(p, key, e.Count, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuEccLocationErrorsDataPoint(p.ts, total, errorTypes[e.Type], errorLocations[e.Location], p.device.ID, options...)
		})
	}
}

// sramThreshold is 1 if SRAM has had more errors than the vendor allows.
func sramThreshold(d *gpu.Device) gpu.Opt[int64] {
	return flagOf(d.ECC.SRAMThresholdExceeded)
}

// recordMemoryBanks records how many banks have how many spare rows left, of the amounts that some bank has or has had.
func recordMemoryBanks(p *devicePoints) {
	for spares, name := range bankSpares {
		v, ok := p.device.MemoryBanks[spares].Get()
		p.past.bankSpares[spares] = p.past.bankSpares[spares] || v > 0
		if ok && p.past.bankSpares[spares] {
			p.builder.RecordHwGpuMemoryBankCountDataPoint(p.ts, v, name, p.device.ID, p.identity...)
		}
	}
}
