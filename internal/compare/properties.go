// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "github.com/otelgpu/gpureceiver/internal/gpu"

// addProperties adds what identifies and describes a device. Serial numbers are left out: a comparison is to be shown to others.
func addProperties(values map[string]value, d *gpu.Device) {
	for _, p := range []struct{ name, text string }{
		{"model", d.Model},
		{"PCI address", d.Info.PCIAddress},
		{"driver version", d.Info.DriverVersion},
		{"firmware version", d.Info.FirmwareVersion},
		{"parent", d.Parent},
		{"profile", d.Info.Profile},
		{"compute capability", d.Info.ComputeCapability},
		{"memory partition", d.Info.MemoryPartition},
	} {
		if p.text != "" {
			values[p.name] = value{order: len(values), value: p.text}
		}
	}
	add(values, "index", "", exact, number(d.CurrentIndex))
	add(values, "performance state", "", exact, number(d.PerformanceState))
	add(values, "PCIe generation, highest", "", exact, number(d.PCIe.GenerationLimit))
	add(values, "PCIe width, highest", "lanes", exact, number(d.PCIe.WidthLimit))
	addLocal := func(name string, v gpu.Opt[bool]) {
		if b, known := v.Get(); known {
			values[name] = value{order: propertyOrder, value: b}
		}
	}
	addLocal("rows wait to be remapped", d.RemappedRows.Pending)
	addLocal("row remapping failed", d.RemappedRows.Failed)
	addLocal("pages wait to be retired", d.RetiredPages.Pending)
}

// propertyOrder is the order of properties, which are listed last.
const propertyOrder = 50

// number returns a whole number as a reading.
func number[T int | int64](v gpu.Opt[T]) gpu.Opt[float64] {
	n, known := v.Get()
	if !known {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(float64(n))
}

// total returns a counter as a reading.
func total[T gpu.Number](c gpu.Counter[T]) gpu.Opt[float64] {
	n, known := c.Get()
	if !known {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(float64(n))
}

// add adds a reading that is known.
func add(values map[string]value, name, unit string, t tolerance, v gpu.Opt[float64]) {
	if n, known := v.Get(); known {
		values[name] = value{order: propertyOrder, unit: unit, tolerance: t, value: n}
	}
}
