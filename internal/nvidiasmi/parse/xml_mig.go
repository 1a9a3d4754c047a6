// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// xmlMIGDevice reads a MIG device. The tool prints only two kinds of values that change: its memory and its errors.
func xmlMIGDevice() *element {
	e := branch(map[string]*element{
		"index":               leaf(integerOf("mig.index", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.migDevice.Index })),
		"gpu_instance_id":     leaf(integerOf("mig.gi", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.migDevice.GI })),
		"compute_instance_id": leaf(integerOf("mig.ci", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.migDevice.CI })),
		"uuid":                leaf(textOf("mig.uuid", func(b *builder) *string { return &b.migDevice.UUID })),
		"fb_memory_usage":     branch(frameBuffer(func(b *builder) *gpu.Memory { return &b.migDevice.Memory })),
		"bar1_memory_usage":   branch(bar1(func(b *builder) *gpu.Memory { return &b.migDevice.Memory })),
		"device_attributes": branch(map[string]*element{"shared": branch(map[string]*element{
			"multiprocessor_count": leaf(integerOf("mig.multiprocessors", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.migDevice.Multiprocessors })),
		})}),
		"ecc_error_count": branch(map[string]*element{"volatile_count": branch(map[string]*element{
			"sram_uncorrectable": leaf(integerOf("mig.ecc", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.migDevice.Uncorrected })),
		})}),
	})
	e.open = func(b *builder, _ []byte) { b.migDevice = MIGDevice{} }
	e.end = func(b *builder, _ []byte) {
		if len(b.gpu.MIGDevices) >= maxMIG {
			b.listing.Dropped++
			return
		}
		b.gpu.MIGDevices = append(b.gpu.MIGDevices, b.migDevice)
	}
	return e
}

// frameBuffer reads the memory of a GPU or a MIG device. Before driver 510 there is no reserved part, and used includes it.
func frameBuffer(m func(*builder) *gpu.Memory) map[string]*element {
	return map[string]*element{
		"total":    leaf(integerOf("memory.total", unitBytes, func(b *builder) *gpu.Opt[int64] { return &m(b).Limit })),
		"used":     leaf(integerOf("memory.used", unitBytes, func(b *builder) *gpu.Opt[int64] { return &m(b).Usage })),
		"reserved": leaf(integerOf("memory.reserved", unitBytes, func(b *builder) *gpu.Opt[int64] { return &m(b).Reserved })),
	}
}

// bar1 reads the window for accesses over PCI Express.
func bar1(m func(*builder) *gpu.Memory) map[string]*element {
	return map[string]*element{
		"total": leaf(integerOf("bar1.total", unitBytes, func(b *builder) *gpu.Opt[int64] { return &m(b).BAR1Limit })),
		"used":  leaf(integerOf("bar1.used", unitBytes, func(b *builder) *gpu.Opt[int64] { return &m(b).BAR1Usage })),
	}
}
