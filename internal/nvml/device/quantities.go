// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// quantity is one number that the driver reports of a GPU: a row of quantityRows.
type quantity struct {
	group gpu.Group // a read asks for it if any of these is wanted
	what  string    // for messages

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
	// seldom: a field that seldom changes: see keptValues.
	seldom bool
	// basis returns another quantity of the GPU, without whose change this one seldom changes: see keptValues. nil: it may change at any time.
	basis func(d *gpu.Device) gpu.Opt[int64]

	// set converts the value to SI units, leaves it absent if it means "no value", and reports whether there is one: see to. It is nil if
	// a reader reads the quantity by its name, because it depends on others.
	set func(d *gpu.Device, v library.Value, ok bool) (known bool)

	function *library.Function // of symbol
}

// fieldID is a field's number in nvml.h and its scope.
type fieldID struct{ id, scope uint32 }

// allLinks is the scope of the sum of an NVLink counter over all links.
const allLinks = 0xFFFFFFFF

// to returns the function that sets what target points to. unit converts a number of NVML and says which numbers are no value: units.go.
func to[O interface{ Known() bool }](
	unit func(library.Value, bool) O, target func(*gpu.Device) *O,
) func(*gpu.Device, library.Value, bool) bool {
	return func(d *gpu.Device, v library.Value, ok bool) bool {
		o := unit(v, ok)
		*target(d) = o
		return o.Known()
	}
}

// readQuantities reads the quantities that need no reader.
func readQuantities(dev *device, d *gpu.Device) {
	for i := range quantityRows {
		q := &quantityRows[i]
		if q.set == nil || !dev.cfg.Want.Has(q.group) || dev.Fatal != library.OK {
			continue
		}
		v, ok := dev.quantityFor(i, d)
		switch known := q.set(d, v, ok); {
		case known && q.constant && q.function != nil:
			dev.constants[q.function] = v
		case !known:
			delete(dev.kept.values, q.function)
		}
	}
}

// quantityFor returns the value of a row, which may be kept from an earlier read. The GPU has the values of the rows before it.
func (d *device) quantityFor(row int, of *gpu.Device) (library.Value, bool) {
	if q := &quantityRows[row]; q.basis != nil {
		if basis, ok := q.basis(of).Get(); ok {
			return d.keptValue(q.function, q.call, basis)
		}
	}
	return d.quantity(row)
}

// quantity returns the value of a row: of its field, else of its function.
func (d *device) quantity(row int) (v library.Value, ok bool) {
	q := &quantityRows[row]
	if v, ok = d.constants[q.function]; ok {
		return v, true
	}
	if q.function != nil && d.fields.lacks(field(row)) {
		return d.value(q.function, q.call)
	}
	return d.fields.get(field(row))
}

// field is the place in quantityRows of a quantity that a reader reads by its name.
type field int

const (
	fieldShutdownTLimit field = iota
	fieldPCIeTransmitted
	fieldPCIeReceived
	fieldECCMode
	fieldECCPending
	fieldECCCorrected
	fieldECCUncorrected
	fieldECCLifetimeCorrected
	fieldECCLifetimeUncorrected
	fieldDRAMCorrected
	fieldDRAMUncorrected
	fieldLifetimeL1Corrected
	fieldLifetimeL1Uncorrected
	fieldLifetimeL2Corrected
	fieldLifetimeL2Uncorrected
	fieldLifetimeDRAMCorrected
	fieldLifetimeDRAMUncorrected
	fieldLifetimeRegistersCorrected
	fieldLifetimeRegistersUncorrected
	fieldLifetimeTextureCorrected
	fieldLifetimeTextureUncorrected
	fieldLifetimeCBUUncorrected
	fieldRemappedCorrected
	fieldRemappedUncorrected
	fieldRemappedPending
	fieldRemappedFailure
	fieldRecovery
	fieldNVLinkTransmitted
	fieldNVLinkReceived
	fieldNVLinkCRCFlit
	fieldNVLinkCRCData
	fieldNVLinkReplay
	fieldNVLinkRecovery
	fieldNVLinkECC
	fieldLinkCount
	numFields
)

// eccGroups are the groups that count nothing if ECC is off.
const eccGroups = gpu.GroupECC | gpu.GroupECCLifetime | gpu.GroupECCMemory | gpu.GroupECCLocations

// linkGroups are the groups that need the number of links.
const linkGroups = gpu.GroupInterconnect | gpu.GroupInterconnectErrors | gpu.GroupInterconnectLinks |
	gpu.GroupInterconnectState | gpu.GroupInterconnectSpeed | gpu.GroupInterconnectBitErrors

// quantityRows are the quantities: first those that readers name, then the others in the order of a read.
var quantityRows = newQuantityRows()

func newQuantityRows() []quantity {
	rows := []quantity{
		// The point on the scale of the margin at which the GPU shuts down.
		fieldShutdownTLimit:  {group: gpu.GroupTemperatureLimits, what: "temperature margin", fields: []fieldID{{gonvml.FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, 0}}, constant: true},
		fieldPCIeTransmitted: {group: gpu.GroupPCIeIO, what: "PCIe bytes", fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_TX_BYTES, 0}}},
		fieldPCIeReceived:    {group: gpu.GroupPCIeIO, what: "PCIe bytes", fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_RX_BYTES, 0}}},
		// Whether ECC is on. If it is off, the counts mean nothing.
		fieldECCMode:                {group: eccGroups | gpu.GroupModes | gpu.GroupPendingModes, what: "ECC mode", fields: []fieldID{{gonvml.FI_DEV_ECC_CURRENT, 0}}},
		fieldECCPending:             {group: gpu.GroupPendingModes, what: "ECC mode", fields: []fieldID{{gonvml.FI_DEV_ECC_PENDING, 0}}, seldom: true},
		fieldECCCorrected:           {group: gpu.GroupECC, what: "ECC errors", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_VOL_TOTAL, 0}}},
		fieldECCUncorrected:         {group: gpu.GroupECC, what: "ECC errors", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_VOL_TOTAL, 0}}},
		fieldECCLifetimeCorrected:   {group: gpu.GroupECCLifetime, what: "lifetime ECC errors", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_TOTAL, 0}}},
		fieldECCLifetimeUncorrected: {group: gpu.GroupECCLifetime, what: "lifetime ECC errors", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_TOTAL, 0}}},
		// DRAM is what these fields call device memory. Other locations are counted before Ampere; nvmlDeviceGetSramEccErrorStatus has them since.
		fieldDRAMCorrected:                {group: gpu.GroupECCMemory, what: "DRAM errors", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_VOL_DEV, 0}}},
		fieldDRAMUncorrected:              {group: gpu.GroupECCMemory, what: "DRAM errors", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_VOL_DEV, 0}}},
		fieldLifetimeL1Corrected:          {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_L1, 0}}},
		fieldLifetimeL1Uncorrected:        {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_L1, 0}}},
		fieldLifetimeL2Corrected:          {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_L2, 0}}},
		fieldLifetimeL2Uncorrected:        {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_L2, 0}}},
		fieldLifetimeDRAMCorrected:        {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_DEV, 0}}},
		fieldLifetimeDRAMUncorrected:      {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_DEV, 0}}},
		fieldLifetimeRegistersCorrected:   {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_REG, 0}}},
		fieldLifetimeRegistersUncorrected: {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_REG, 0}}},
		fieldLifetimeTextureCorrected:     {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_TEX, 0}}},
		fieldLifetimeTextureUncorrected:   {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_TEX, 0}}},
		fieldLifetimeCBUUncorrected:       {group: gpu.GroupECCLocations, what: "ECC errors by location", fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_CBU, 0}}},
		// Rows are remapped on Ampere and later, pages retired before.
		fieldRemappedCorrected: {
			group: gpu.GroupRemappedRows, what: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_COR, 0}},
			set: to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Corrected }),
		},
		fieldRemappedUncorrected: {
			group: gpu.GroupRemappedRows, what: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_UNC, 0}},
			set: to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Uncorrected }),
		},
		fieldRemappedPending: {
			group: gpu.GroupRemappedRows, what: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_PENDING, 0}},
			set: to(flag, func(d *gpu.Device) *gpu.Opt[bool] { return &d.RemappedRows.Pending }),
		},
		fieldRemappedFailure: {
			group: gpu.GroupRemappedRows, what: "remapped rows", fields: []fieldID{{gonvml.FI_DEV_REMAPPED_FAILURE, 0}},
			set: to(flag, func(d *gpu.Device) *gpu.Opt[bool] { return &d.RemappedRows.Failed }),
		},
		fieldRecovery: {group: gpu.GroupRecovery, what: "recovery action", fields: []fieldID{{gonvml.FI_DEV_GET_GPU_RECOVERY_ACTION, 0}}},
		// KiB of payload over all links. If there is no total, the links are added up.
		fieldNVLinkTransmitted: {group: gpu.GroupInterconnect, what: "NVLink bytes", fields: []fieldID{{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, allLinks}}},
		fieldNVLinkReceived:    {group: gpu.GroupInterconnect, what: "NVLink bytes", fields: []fieldID{{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, allLinks}}},
		fieldNVLinkCRCFlit:     {group: gpu.GroupInterconnectErrors, what: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, 0}}},
		fieldNVLinkCRCData:     {group: gpu.GroupInterconnectErrors, what: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, 0}}},
		fieldNVLinkReplay:      {group: gpu.GroupInterconnectErrors, what: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, 0}}},
		fieldNVLinkRecovery:    {group: gpu.GroupInterconnectErrors, what: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, 0}}},
		fieldNVLinkECC:         {group: gpu.GroupInterconnectErrors, what: "NVLink errors", fields: []fieldID{{gonvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL, 0}}},
		fieldLinkCount:         {group: linkGroups, what: "NVLink links", fields: []fieldID{{gonvml.FI_DEV_NVLINK_LINK_COUNT, 0}}, constant: true},

		{
			group: gpu.GroupTemperature, what: "temperature",
			symbol: "nvmlDeviceGetTemperature", call: numberOf(library.Device.GetTemperature, library.TemperatureGPU),
			set: to(signedCelsius, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Temperature[gpu.SensorGPU] }),
		},
		{
			group: gpu.GroupTemperatureLimits, what: "temperature margin",
			symbol: "nvmlDeviceGetMarginTemperature", call: temperatureMargin,
			set: to(celsius, func(d *gpu.Device) *gpu.Opt[float64] { return &d.TemperatureMargin[gpu.LimitDegraded] }),
		},
		{
			group: gpu.GroupClocks, what: "clocks",
			symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockGraphics),
			set: to(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockGraphics].Speed }),
		},
		{
			group: gpu.GroupClocks, what: "clocks",
			symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockSM),
			set: to(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockSM].Speed }),
		},
		{
			group: gpu.GroupClocks, what: "clocks",
			symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockMemory),
			set: to(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockMemory].Speed }),
		},
		{
			group: gpu.GroupClocks, what: "clocks",
			symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockVideo),
			set: to(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockVideo].Speed }),
		},
		{
			group: gpu.GroupClockLimits, what: "clock limits", constant: true,
			symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockGraphics),
			set: to(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockGraphics].Limit }),
		},
		{
			group: gpu.GroupClockLimits, what: "clock limits", constant: true,
			symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockSM),
			set: to(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockSM].Limit }),
		},
		{
			group: gpu.GroupClockLimits, what: "clock limits", constant: true,
			symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockMemory),
			set: to(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockMemory].Limit }),
		},
		{
			group: gpu.GroupClockLimits, what: "clock limits", constant: true,
			symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockVideo),
			set: to(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockVideo].Limit }),
		},
		{
			group: gpu.GroupPerformanceState, what: "performance state",
			symbol: "nvmlDeviceGetPerformanceState", call: number(library.Device.GetPerformanceState),
			set: to(performanceState, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PerformanceState }),
		},
		{
			group: gpu.GroupPCIeLink, what: "PCIe generation",
			symbol: "nvmlDeviceGetCurrPcieLinkGeneration", call: number(library.Device.GetCurrPcieLinkGeneration),
			set: to(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.Generation }),
		},
		{
			group: gpu.GroupPCIeLink, what: "PCIe width",
			symbol: "nvmlDeviceGetCurrPcieLinkWidth", call: number(library.Device.GetCurrPcieLinkWidth),
			basis: func(d *gpu.Device) gpu.Opt[int64] { return d.PCIe.Generation },
			set:   to(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.Width }),
		},
		{
			group: gpu.GroupPCIeLink, what: "PCIe generation", constant: true,
			symbol: "nvmlDeviceGetMaxPcieLinkGeneration", call: number(library.Device.GetMaxPcieLinkGeneration),
			set: to(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.GenerationLimit }),
		},
		{
			group: gpu.GroupPCIeLink, what: "PCIe width", constant: true,
			symbol: "nvmlDeviceGetMaxPcieLinkWidth", call: number(library.Device.GetMaxPcieLinkWidth),
			set: to(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.WidthLimit }),
		},
		{
			group: gpu.GroupTemperature, what: "memory temperature",
			fields: []fieldID{{gonvml.FI_DEV_MEMORY_TEMP, 0}},
			set:    to(memoryCelsius, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Temperature[gpu.SensorMemory] }),
		},
		// Ampere and later, except GA100, average the field over a second.
		{
			group: gpu.GroupPower, what: "power",
			fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, 0}},
			symbol: "nvmlDeviceGetPowerUsage", call: number(library.Device.GetPowerUsage),
			set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Draw }),
		},
		{
			group: gpu.GroupPowerDetail, what: "instantaneous power",
			fields: []fieldID{{gonvml.FI_DEV_POWER_INSTANT, 0}},
			set:    to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Instant }),
		},
		// The module is the GPU and the CPU with its memory.
		{
			group: gpu.GroupPowerDetail, what: "module power",
			fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, gonvml.POWER_SCOPE_MODULE}, {gonvml.FI_DEV_POWER_INSTANT, gonvml.POWER_SCOPE_MODULE}},
			set:    to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Module }),
		},
		{
			group: gpu.GroupPowerDetail, what: "memory power",
			fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, gonvml.POWER_SCOPE_MEMORY}, {gonvml.FI_DEV_POWER_INSTANT, gonvml.POWER_SCOPE_MEMORY}},
			set:    to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Memory }),
		},
		// The limit in force, whether a user or the driver set it.
		{
			group: gpu.GroupPowerLimit, what: "power limit",
			fields: []fieldID{{gonvml.FI_DEV_POWER_CURRENT_LIMIT, 0}},
			symbol: "nvmlDeviceGetEnforcedPowerLimit", call: number(library.Device.GetEnforcedPowerLimit),
			set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitEnforced] }),
		},
		{
			group: gpu.GroupPowerLimit, what: "highest power limit",
			fields: []fieldID{{gonvml.FI_DEV_POWER_MAX_LIMIT, 0}},
			symbol: "nvmlDeviceGetPowerManagementLimitConstraints", call: number(maxPowerLimit),
			set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitMax] }),
		},
		{
			group: gpu.GroupPowerLimit, what: "lowest power limit",
			fields: []fieldID{{gonvml.FI_DEV_POWER_MIN_LIMIT, 0}},
			symbol: "nvmlDeviceGetPowerManagementLimitConstraints", call: number(minPowerLimit),
			set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitMin] }),
		},
		{
			group: gpu.GroupPowerLimit, what: "default power limit",
			fields: []fieldID{{gonvml.FI_DEV_POWER_DEFAULT_LIMIT, 0}},
			symbol: "nvmlDeviceGetPowerManagementDefaultLimit", call: number(library.Device.GetPowerManagementDefaultLimit),
			set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitDefault] }),
		},
		// Since the driver was loaded.
		{
			group: gpu.GroupEnergy, what: "energy",
			fields: []fieldID{{gonvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0}, {gonvml.FI_DEV_ENERGY, 0}},
			symbol: "nvmlDeviceGetTotalEnergyConsumption", call: number64(library.Device.GetTotalEnergyConsumption),
			set: to(joules, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Energy }),
		},
		// Drivers without the first field of software thermal throttling count the same in the thermal policy.
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleSWPowerCap].Time }),
		},
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleSyncBoost].Time }),
		},
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, 0}, {gonvml.FI_DEV_PERF_POLICY_THERMAL, 0}},
			of575:  []fieldID{{251, 0}, {gonvml.FI_DEV_PERF_POLICY_THERMAL, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleSWThermal].Time }),
		},
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, 0}},
			of575:  []fieldID{{252, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleHWThermal].Time }),
		},
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, 0}},
			of575:  []fieldID{{253, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleHWPowerBrake].Time }),
		},
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_PERF_POLICY_BOARD_LIMIT, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleBoardLimit].Time }),
		},
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_PERF_POLICY_LOW_UTILIZATION, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleLowUtilization].Time }),
		},
		{
			group: gpu.GroupThrottleTime, what: "throttle time",
			fields: []fieldID{{gonvml.FI_DEV_PERF_POLICY_RELIABILITY, 0}},
			set:    to(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleReliability].Time }),
		},
		{
			group: gpu.GroupPCIeReplay, what: "PCIe replays",
			fields: []fieldID{{gonvml.FI_DEV_PCIE_REPLAY_COUNTER, 0}},
			symbol: "nvmlDeviceGetPcieReplayCounter", call: number(library.Device.GetPcieReplayCounter),
			set: to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.Replays }),
		},
		{
			group: gpu.GroupPCIeDetail, what: "PCIe replay rollovers",
			fields: []fieldID{{gonvml.FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER, 0}},
			set:    to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.ReplayRollovers }),
		},
		{
			group: gpu.GroupPCIeDetail, what: "PCIe recoveries",
			fields: []fieldID{{gonvml.FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER, 0}},
			set:    to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.Recoveries }),
		},
		{
			group: gpu.GroupPCIeDetail, what: "PCIe NAKs",
			fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_NAKS_RECEIVED, 0}},
			set:    to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.NAKsReceived }),
		},
		{
			group: gpu.GroupPCIeDetail, what: "PCIe NAKs",
			fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_NAKS_SENT, 0}},
			set:    to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.NAKsTransmitted }),
		},
		{
			group: gpu.GroupRemappedRows, what: "retired pages", retires: true,
			fields: []fieldID{{gonvml.FI_DEV_RETIRED_SBE, 0}},
			set:    to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Corrected }),
		},
		{
			group: gpu.GroupRemappedRows, what: "retired pages", retires: true,
			fields: []fieldID{{gonvml.FI_DEV_RETIRED_DBE, 0}},
			set:    to(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Uncorrected }),
		},
		{
			group: gpu.GroupRemappedRows, what: "retired pages", retires: true,
			fields: []fieldID{{gonvml.FI_DEV_RETIRED_PENDING, 0}},
			set:    to(flag, func(d *gpu.Device) *gpu.Opt[bool] { return &d.RetiredPages.Pending }),
		},
	}
	for i := range rows {
		if q := &rows[i]; q.symbol != "" {
			q.function = library.NewFunction(q.what, q.symbol)
		}
	}
	return rows
}

// performanceState is the P-state's number. 0 is the fastest.
func performanceState(v library.Value, ok bool) gpu.Opt[int64] {
	return known(int64(v.Unsigned), ok && v.Unsigned <= uint64(library.PerformanceStateMax))
}
