// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

// Function is one query of the driver: one function of the library in any of its versions, and with one set of arguments if a device may
// support some of them and not others. Calls distinguish functions by their address.
type Function struct {
	// What is read, for messages.
	What string
	// Symbols are the names under which the library may export the function, the newest version first. The binding calls the newest
	// that there is.
	Symbols []string
}

// NewFunction returns a function. The library may export any of the symbols, the newest first.
func NewFunction(name string, symbols ...string) *Function { return &Function{name, symbols} }

// Symbol is the function's name without its version, for messages.
func (f *Function) Symbol() string { return f.Symbols[len(f.Symbols)-1] }

// The functions that the package calls itself.
var (
	initialise    = NewFunction("initialise NVML", "nvmlInit_v2", "nvmlInit")
	shutdown      = NewFunction("shut NVML down", "nvmlShutdown")
	deviceCount   = NewFunction("number of GPUs", "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")
	handleByIndex = NewFunction("handle", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")

	// DriverVersion is nvmlSystemGetDriverVersion.
	DriverVersion = NewFunction("driver version", "nvmlSystemGetDriverVersion")
	// CUDAVersion is nvmlSystemGetCudaDriverVersion.
	CUDAVersion = NewFunction("CUDA version", "nvmlSystemGetCudaDriverVersion_v2")
	// NVMLVersion is nvmlSystemGetNVMLVersion.
	NVMLVersion = NewFunction("NVML version", "nvmlSystemGetNVMLVersion")
	// UUID is nvmlDeviceGetUUID, of GPUs and MIG instances.
	UUID = NewFunction("UUID", "nvmlDeviceGetUUID")
	// MIGHandle is nvmlDeviceGetMigDeviceHandleByIndex.
	MIGHandle = NewFunction("MIG instances", "nvmlDeviceGetMigDeviceHandleByIndex")
)

// essential functions are those without which a library is not NVML.
var essential = [...]*Function{initialise, shutdown, deviceCount, handleByIndex, UUID}
