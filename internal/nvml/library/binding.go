// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

// What go-nvml hands out. Outside this package, only the tables of internal/nvml/device know go-nvml: they use its names for the numbers of fields.
type (
	// Return is nvmlReturn_t; see Code.
	Return = gonvml.Return
	// BoundDevice is a device handle with a method for each function of NVML.
	BoundDevice = gonvml.Device
	// EventSet is nvmlEventSet_t.
	EventSet = gonvml.EventSet
	// GPMSample is nvmlGpmSample_t.
	GPMSample = gonvml.GpmSample
	// GPMMetrics is nvmlGpmMetricsGet_t.
	GPMMetrics = gonvml.GpmMetricsGetType
	// FieldValue is nvmlFieldValue_t.
	FieldValue = gonvml.FieldValue
	// SRAMErrors is nvmlEccSramErrorStatus_t.
	SRAMErrors = gonvml.EccSramErrorStatus
)

// The arguments of functions, under nvml.h's names.
const (
	ClockGraphics = gonvml.CLOCK_GRAPHICS
	ClockSM       = gonvml.CLOCK_SM
	ClockMemory   = gonvml.CLOCK_MEM
	ClockVideo    = gonvml.CLOCK_VIDEO

	TemperatureGPU      = gonvml.TEMPERATURE_GPU
	ThresholdShutdown   = gonvml.TEMPERATURE_THRESHOLD_SHUTDOWN
	ThresholdSlowdown   = gonvml.TEMPERATURE_THRESHOLD_SLOWDOWN
	ThresholdMemoryMax  = gonvml.TEMPERATURE_THRESHOLD_MEM_MAX
	ThresholdGPUMax     = gonvml.TEMPERATURE_THRESHOLD_GPU_MAX
	PerformanceStateMax = gonvml.PSTATE_15

	ErrorCorrected   = gonvml.MEMORY_ERROR_TYPE_CORRECTED
	ErrorUncorrected = gonvml.MEMORY_ERROR_TYPE_UNCORRECTED
	ECCVolatile      = gonvml.VOLATILE_ECC
	ECCAggregate     = gonvml.AGGREGATE_ECC
	ECCInSRAM        = gonvml.MEMORY_LOCATION_SRAM
	ECCInDRAM        = gonvml.MEMORY_LOCATION_DRAM

	PeerRead    = gonvml.P2P_CAPS_INDEX_READ
	PeerWrite   = gonvml.P2P_CAPS_INDEX_WRITE
	PeerNVLink  = gonvml.P2P_CAPS_INDEX_NVLINK
	PeerAtomics = gonvml.P2P_CAPS_INDEX_ATOMICS
	PeerPCI     = gonvml.P2P_CAPS_INDEX_PCI
	PeerOK      = gonvml.P2P_STATUS_OK
	PeerUnknown = gonvml.P2P_STATUS_UNKNOWN

	PCIeTransmitted = gonvml.PCIE_UTIL_TX_BYTES
	PCIeReceived    = gonvml.PCIE_UTIL_RX_BYTES

	MIGEnabled = gonvml.DEVICE_MIG_ENABLE
	EventXID   = gonvml.EventTypeXidCriticalError
	EventMIG   = gonvml.EventMigConfigChange
)

// The types of arguments that tables hold.
type (
	// ClockType is nvmlClockType_t.
	ClockType = gonvml.ClockType
	// Threshold is nvmlTemperatureThresholds_t.
	Threshold = gonvml.TemperatureThresholds
	// ErrorType is nvmlMemoryErrorType_t.
	ErrorType = gonvml.MemoryErrorType
	// ECCCounter is nvmlEccCounterType_t.
	ECCCounter = gonvml.EccCounterType
	// MemoryLocation is nvmlMemoryLocation_t.
	MemoryLocation = gonvml.MemoryLocation
	// PeerCapability is nvmlGpuP2PCapsIndex_t.
	PeerCapability = gonvml.GpuP2PCapsIndex
	// PCIeCounter is nvmlPcieUtilCounter_t.
	PCIeCounter = gonvml.PcieUtilCounter
)

// loadFrom makes go-nvml load the library from a path.
func loadFrom(path string) {
	// go-nvml refuses options while it is initialised. Then it has the library already, for a process has only one.
	_ = gonvml.SetLibraryOptions(gonvml.WithLibraryPath(path))
}
