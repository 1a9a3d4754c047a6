// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"slices"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// quantity is one number that the driver reports of a GPU: a row of quantityRows.
type quantity struct {
	group gpu.Group // a read asks for it if any of these is wanted
	name  string    // for messages

	// fields are the fields of nvmlDeviceGetFieldValues that may have it, best first. All fields of a read are requested in one call.
	fields []fieldID
	// of575 are the fields with drivers of branch 575, if they differ. The usual numbers are settings of power smoothing there (NVIDIA's
	// change log of NVML, v575 to v580). With other drivers the first of these is ambiguous: see there.
	of575 []fieldID
	// retires: it is a count of retired pages, which is useless if the device remaps rows.
	retires bool

	// symbol names the function that reads it if the device does not have the fields, and call calls it.
	symbol string
	call   valueCall

	// constant: it does not change while the driver stays. A field is requested until it was answered, a function called until there is a
	// value.
	constant bool
	// final: if the function answers without a value, it is not called again.
	final bool
	// seldom: a field that seldom changes: see keptValues.
	seldom bool
	// basis returns another quantity of the GPU, without whose change this one seldom changes: see keptValues. nil: it may change at any time.
	basis func(d *gpu.Device) gpu.Opt[int64]

	// set converts the value to SI units, leaves it absent if it means "no value", and reports whether there is one: see unitSetter. It is nil if
	// a reader reads the quantity by its name, because it depends on others.
	set setter

	function *library.Function // of symbol
}

// setter sets what a value is of a GPU, and reports whether it is known.
type setter func(d *gpu.Device, v library.Value, ok bool) (known bool)

// fieldID is a field's number in nvml.h and its scope.
type fieldID struct{ id, scope uint32 }

// allLinks is the scope of the sum of an NVLink counter over all links.
const allLinks = 0xFFFFFFFF

// unitSetter returns the function that sets what target points to. unit converts a number of NVML and says which numbers are no value: units.go.
func unitSetter[O interface{ Known() bool }](unit func(library.Value, bool) O, target func(*gpu.Device) *O) setter {
	return func(d *gpu.Device, v library.Value, ok bool) bool {
		o := unit(v, ok)
		*target(d) = o
		return o.Known()
	}
}

// readRows returns a reader of the rows of groups that need no reader of their own.
func readRows(groups gpu.Group) func(*device, *gpu.Device) {
	return func(dev *device, d *gpu.Device) {
		for i := range quantityRows {
			q := &quantityRows[i]
			if q.set == nil || !groups.Has(q.group) || !dev.cfg.Want.Has(q.group) || dev.Fatal != library.OK || eccGroups.Has(q.group) && dev.eccOff() {
				continue
			}
			v, ok := dev.quantityFor(row(i), d)
			known := q.set(d, v, ok)
			if !known {
				delete(dev.cache.values, q.function)
			}
			switch {
			case q.function == nil || !ok:
			case known && q.constant:
				dev.constants[q.function] = v
			case !known && q.final:
				dev.Refuse(q.function)
			}
		}
	}
}

// quantityFor returns the value of a row, which may be kept from an earlier read. The GPU has the values of the rows before it.
func (d *device) quantityFor(r row, values *gpu.Device) (library.Value, bool) {
	if q := &quantityRows[r]; q.basis != nil {
		if basis, ok := q.basis(values).Get(); ok {
			return d.keptValue(q.function, q.call, basis)
		}
	}
	return d.quantity(r)
}

// quantity returns the value of a row: of its field, else of its function.
func (d *device) quantity(r row) (v library.Value, ok bool) {
	q := &quantityRows[r]
	if v, ok = d.constants[q.function]; ok {
		return v, true
	}
	if q.function != nil && d.fields.lacks(r) {
		return d.value(q.function, q.call)
	}
	return d.fields.get(r)
}

// row is the place in quantityRows of a quantity that is read by its name.
type row int

const (
	rowMaxTLimit row = iota
	rowSlowdownTLimit
	rowShutdownTLimit
	rowPCIeTransmitted
	rowPCIeReceived
	rowECCMode
	rowECCPending
	rowSRAMCorrected
	rowSRAMUncorrected
	rowRemappedCorrected
	rowRemappedUncorrected
	rowRemappedPending
	rowRemappedFailure
	rowRecovery
	rowNVLinkTransmitted
	rowNVLinkReceived
	rowNVLinkCRCFlit
	rowNVLinkCRCData
	rowNVLinkReplay
	rowNVLinkRecovery
	rowNVLinkECC
	rowLinkCount
	rowVirtualization
	numRows
)

// eccGroups are the groups that count nothing if ECC is off.
const eccGroups = gpu.GroupECC | gpu.GroupECCLifetime | gpu.GroupECCMemory | gpu.GroupECCLocations

// linkGroups are the groups that need the number of links.
const linkGroups = gpu.GroupInterconnect | gpu.GroupInterconnectErrors | gpu.GroupInterconnectLinks |
	gpu.GroupInterconnectState | gpu.GroupInterconnectSpeed | gpu.GroupInterconnectBitErrors

// quantityRows are the quantities: first those that are read by name, then the others by topic.
var quantityRows = newQuantityRows()

func newQuantityRows() []quantity {
	rows := []quantity{
		// T.Limit at the limits. Each margin is what T.Limit is above it.
		rowMaxTLimit:       {group: gpu.GroupTemperatureLimits, name: "temperature margin", fields: []fieldID{{gonvml.FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT, 0}}, constant: true},
		rowSlowdownTLimit:  {group: gpu.GroupTemperatureLimits, name: "temperature margin", fields: []fieldID{{gonvml.FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT, 0}}, constant: true},
		rowShutdownTLimit:  {group: gpu.GroupTemperatureLimits, name: "temperature margin", fields: []fieldID{{gonvml.FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, 0}}, constant: true},
		rowPCIeTransmitted: {group: gpu.GroupPCIeIO, name: "PCIe bytes", fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_TX_BYTES, 0}}},
		rowPCIeReceived:    {group: gpu.GroupPCIeIO, name: "PCIe bytes", fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_RX_BYTES, 0}}},
		// Whether ECC is on. If it is off, the counts mean nothing.
		rowECCMode:    {group: eccGroups | gpu.GroupModes | gpu.GroupPendingModes, name: "ECC mode", fields: []fieldID{{gonvml.FI_DEV_ECC_CURRENT, 0}}},
		rowECCPending: {group: gpu.GroupPendingModes, name: "ECC mode", fields: []fieldID{{gonvml.FI_DEV_ECC_PENDING, 0}}, seldom: true},
		rowSRAMCorrected: {
			group: gpu.GroupECCMemory, name: "ECC errors by memory",
			symbol: "nvmlDeviceGetMemoryErrorCounter", call: memoryErrors(library.ErrorCorrected, library.ECCVolatile, library.ECCInSRAM),
		},
		rowSRAMUncorrected: {
			group: gpu.GroupECCMemory, name: "ECC errors by memory",
			symbol: "nvmlDeviceGetMemoryErrorCounter", call: memoryErrors(library.ErrorUncorrected, library.ECCVolatile, library.ECCInSRAM),
		},
		// Rows are remapped on Ampere and later, pages retired before.
		rowRemappedCorrected: {
			group: gpu.GroupRemappedRows, name: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_COR, 0}},
			set: unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Corrected }),
		},
		rowRemappedUncorrected: {
			group: gpu.GroupRemappedRows, name: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_UNC, 0}},
			set: unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Uncorrected }),
		},
		rowRemappedPending: {
			group: gpu.GroupRemappedRows, name: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_PENDING, 0}},
			set: unitSetter(flag, func(d *gpu.Device) *gpu.Opt[bool] { return &d.RemappedRows.Pending }),
		},
		rowRemappedFailure: {
			group: gpu.GroupRemappedRows, name: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_FAILURE, 0}},
			set: unitSetter(flag, func(d *gpu.Device) *gpu.Opt[bool] { return &d.RemappedRows.Failed }),
		},
		rowRecovery: {group: gpu.GroupRecovery, name: "recovery action", fields: []fieldID{{gonvml.FI_DEV_GET_GPU_RECOVERY_ACTION, 0}}},
		// KiB of payload over all links. If there is no total, the links are added up.
		rowNVLinkTransmitted: {group: gpu.GroupInterconnect, name: "NVLink bytes", fields: []fieldID{{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, allLinks}}},
		rowNVLinkReceived:    {group: gpu.GroupInterconnect, name: "NVLink bytes", fields: []fieldID{{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, allLinks}}},
		rowNVLinkCRCFlit:     {group: gpu.GroupInterconnectErrors, name: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, 0}}},
		rowNVLinkCRCData:     {group: gpu.GroupInterconnectErrors, name: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, 0}}},
		rowNVLinkReplay:      {group: gpu.GroupInterconnectErrors, name: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, 0}}},
		rowNVLinkRecovery:    {group: gpu.GroupInterconnectErrors, name: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, 0}}},
		rowNVLinkECC:         {group: gpu.GroupInterconnectErrors, name: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL, 0}}},
		rowLinkCount:         {group: linkGroups, name: "NVLink links", fields: []fieldID{{gonvml.FI_DEV_NVLINK_LINK_COUNT, 0}}, constant: true},
		rowVirtualization: {
			group: gpu.GroupModes, name: "virtualization mode", constant: true,
			symbol: "nvmlDeviceGetVirtualizationMode", call: number(library.Device.GetVirtualizationMode), set: modeWord(gpu.ModeVirtualization, virtualizationModes[:]),
		},
	}
	rows = slices.Concat(rows, temperatureRows, clockRows, pcieRows, powerRows, throttleRows, memoryRows, eccRows, modeRows)
	for i := range rows {
		if q := &rows[i]; q.symbol != "" {
			q.function = library.NewFunction(q.name, q.symbol)
		}
	}
	return rows
}
