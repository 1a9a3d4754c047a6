// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// modes are those that one function reads. A constant one does not change while the driver stays.
var modes = [...]struct {
	mode     gpu.ModeName
	function *library.Function
	call     valueCall
	words    []string
	constant bool
}{
	{
		gpu.ModePersistence, library.NewFunction("persistence mode", "nvmlDeviceGetPersistenceMode"),
		number(library.Device.GetPersistenceMode), enableStates[:], false,
	},
	{
		gpu.ModeCompute, library.NewFunction("compute mode", "nvmlDeviceGetComputeMode"),
		number(library.Device.GetComputeMode), computeModes[:], false,
	},
	{gpu.ModeVirtualization, virtualizationMode, number(library.Device.GetVirtualizationMode), virtualizationModes[:], true},
	{
		gpu.ModeGSP, library.NewFunction("GSP mode", "nvmlDeviceGetGspFirmwareMode"),
		func(h library.Device) (library.Value, bool, library.Return) {
			on, _, ret := h.GetGspFirmwareMode()
			if on {
				return library.Value{Unsigned: 1}, true, ret
			}
			return library.Value{}, true, ret
		}, enableStates[:], true,
	},
}

var virtualizationMode = library.NewFunction("virtualization mode", "nvmlDeviceGetVirtualizationMode")

// readModes reads what the GPU is set to.
func readModes(dev *device, d *gpu.Device) {
	for i := range modes {
		m := &modes[i]
		v, ok := dev.constants[m.function]
		if !ok {
			v, ok = dev.value(m.function, m.call)
		}
		if ok && m.constant {
			dev.constants[m.function] = v
		}
		if ok {
			d.Modes[m.mode].Value = word(m.words, int64(min(v.Unsigned, maxMode)))
		}
	}
	if current, ok := dev.fields.count(fieldECCMode); ok {
		d.Modes[gpu.ModeECC].Value = word(enableStates[:], current)
	}
	if dev.migModes.known {
		d.Modes[gpu.ModeMIG].Value = word(enableStates[:], int64(dev.migModes.current))
	}
}

// readPendingModes reads whether the modes that change at a reset are set to something else from then on.
func readPendingModes(dev *device, d *gpu.Device) {
	current, ok := dev.fields.count(fieldECCMode)
	if pending, known := dev.fields.count(fieldECCPending); ok && known {
		d.Modes[gpu.ModeECC].Pending = gpu.Some(current != pending)
	}
	if m := dev.migModes; m.known {
		d.Modes[gpu.ModeMIG].Pending = gpu.Some(m.current != m.pending)
	}
}

// maxMode is more than any value of a mode.
const maxMode = 1 << 16

// migModes are the last answers of nvmlDeviceGetMigMode.
type migModes struct {
	current, pending int
	known            bool
}
