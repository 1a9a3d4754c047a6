// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// xmlRoot contains every element that is read, by name and place: the same name means different things in different places. If drivers
// renamed an element (525 to 535: power_readings, clocks_throttle_reasons), it has both names.
var xmlRoot = func() *element {
	root := &element{children: map[string]*element{}}
	log := root.descend("nvidia_smi_log")
	log.end = func(b *builder) { b.listing.Complete = true }
	log.descend("error_string").field = &Field{set: setUnreachable}
	for i := range allFields {
		for _, path := range allFields[i].elements {
			if above, ok := strings.CutPrefix(path, "../"); ok {
				path = above
			} else {
				path = "gpu/" + path
			}
			log.descend(path).field = &allFields[i]
		}
	}
	inGPU := log.descend("gpu")
	inGPU.open = func(b *builder, attributes []byte) {
		b.begin()
		if _, id, ok := bytes.Cut(attributes, []byte(`"`)); ok { // <gpu id="00000000:07:00.0">
			id, _, _ = bytes.Cut(id, []byte(`"`))
			b.gpu.Device.Info.PCIAddress = PCIAddress(string(id))
		}
	}
	inGPU.end = (*builder).end
	inGPU.descend("product_name").verbatim = true
	addMIGDevice(inGPU.descend("mig_devices/mig_device"))
	addProcesses(inGPU.descend("processes"), gpu.ProcessUnknown)
	addProcesses(inGPU.descend("compute_processes"), gpu.ProcessCompute) // drivers up to 340
	return root
}()

// addMIGDevice adds the elements of a MIG device. The tool prints only two kinds of values that change: its memory and its errors.
func addMIGDevice(e *element) {
	number := func(target func(*MIGDevice) *gpu.Opt[int64]) setter {
		return integerOf(unitCount, func(b *builder) *gpu.Opt[int64] { return target(&b.migDevice) })
	}
	memory := func(target func(*gpu.Memory) *gpu.Opt[int64]) setter {
		return integerOf(unitBytes, func(b *builder) *gpu.Opt[int64] { return target(&b.migDevice.Memory) })
	}
	e.open = func(b *builder, _ []byte) { b.migDevice = MIGDevice{} }
	e.end = func(b *builder) {
		if len(b.gpu.MIGDevices) >= maxMIG {
			b.listing.Dropped++
			return
		}
		b.gpu.MIGDevices = append(b.gpu.MIGDevices, b.migDevice)
	}
	e.add([]Field{
		xmlOnly("mig.index", "index", number(func(m *MIGDevice) *gpu.Opt[int64] { return &m.Index })),
		xmlOnly("mig.gi", "gpu_instance_id", number(func(m *MIGDevice) *gpu.Opt[int64] { return &m.GI })),
		xmlOnly("mig.ci", "compute_instance_id", number(func(m *MIGDevice) *gpu.Opt[int64] { return &m.CI })),
		xmlOnly("mig.uuid", "uuid", textOf(func(b *builder) *string { return &b.migDevice.UUID })),
		xmlOnly("memory.total", "fb_memory_usage/total", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Limit })),
		xmlOnly("memory.used", "fb_memory_usage/used", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Usage })),
		xmlOnly("memory.reserved", "fb_memory_usage/reserved", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Reserved })),
		xmlOnly("bar1.total", "bar1_memory_usage/total", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.BAR1Limit })),
		xmlOnly("bar1.used", "bar1_memory_usage/used", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.BAR1Usage })),
		xmlOnly("mig.multiprocessors", "device_attributes/shared/multiprocessor_count",
			number(func(m *MIGDevice) *gpu.Opt[int64] { return &m.Multiprocessors })),
		xmlOnly("mig.ecc", "ecc_error_count/volatile_count/sram_uncorrectable", number(func(m *MIGDevice) *gpu.Opt[int64] { return &m.Uncorrected })),
	})
}

// addProcesses adds the elements of processes, which are of a type unless the tool prints another. The element is empty if there is no
// process. A text in it is a reason.
func addProcesses(e *element, defaultType gpu.ProcessType) {
	e.field = &Field{quantity: "processes", set: func(b *builder, printed []byte) bool {
		b.gpu.ProcessesRead = len(printed) == 0
		return b.gpu.ProcessesRead
	}}
	process := e.descend("process_info")
	process.open = func(b *builder, _ []byte) {
		b.process = Process{Type: defaultType}
		b.gpu.ProcessesRead = true
	}
	process.end = func(b *builder) {
		if b.process.PID == 0 || b.processes >= maxProcesses {
			b.listing.Dropped++
			return
		}
		b.processes++
		b.gpu.Processes = append(b.gpu.Processes, b.process)
	}
	process.add([]Field{
		xmlOnly("process.pid", "pid", func(b *builder, printed []byte) bool {
			if pid, ok := processID(printed); ok {
				b.process.PID = pid
			}
			return true
		}),
		xmlOnly("process.type", "type", func(b *builder, printed []byte) bool {
			b.process.Type = processType(printed)
			return true
		}),
		xmlOnly("process.name", "process_name", func(b *builder, printed []byte) bool {
			b.process.Name = processName(printed)
			return true
		}),
		xmlOnly("process.used_memory", "used_memory", integerOf(unitBytes, func(b *builder) *gpu.Opt[int64] { return &b.process.Memory })),
		xmlOnly("process.gi", "gpu_instance_id", integerOf(unitCount, func(b *builder) *gpu.Opt[int64] { return &b.process.GI })),
		xmlOnly("process.ci", "compute_instance_id", integerOf(unitCount, func(b *builder) *gpu.Opt[int64] { return &b.process.CI })),
	})
	process.descend("process_name").verbatim = true
}
