// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import "strconv"

// Code is what an NVML function returns (nvmlReturn_t). The texts are ours: nvmlErrorString may be absent.
type Code int32

// The codes that are treated in a way of their own.
const (
	OK               Code = 0
	Uninitialized    Code = 1
	InvalidArgument  Code = 2
	NotSupported     Code = 3
	NoPermission     Code = 4
	NotFound         Code = 6
	InsufficientSize Code = 7
	DriverNotLoaded  Code = 9
	Timeout          Code = 10
	LibraryNotFound  Code = 12
	FunctionNotFound Code = 13
	CorruptInfoROM   Code = 14
	GPUIsLost        Code = 15
	ResetRequired    Code = 16
	OperatingSystem  Code = 17
	VersionMismatch  Code = 18 // library and kernel driver
	VGPUECCNotFound  Code = 22
	NoData           Code = 21
	ArgumentVersion  Code = 25
	Deprecated       Code = 26
	NotReady         Code = 27
	GPUNotFound      Code = 28
	Unknown          Code = 999
	Panicked         Code = -1 // not NVML's: the binding panicked
	NoReading        Code = -2 // not NVML's: each reading of a GPU is NotSupported
)

var codeTexts = map[Code]string{
	OK:               "success",
	Uninitialized:    "not initialised",
	InvalidArgument:  "invalid argument",
	NotSupported:     "not supported",
	NoPermission:     "not permitted",
	5:                "already initialised",
	NotFound:         "not found",
	InsufficientSize: "the list grew while it was read",
	8:                "external power cables not attached properly",
	DriverNotLoaded:  "NVIDIA driver not loaded",
	Timeout:          "timed out in the driver",
	11:               "interrupt problem of a GPU",
	LibraryNotFound:  "library not found",
	FunctionNotFound: "function missing in the library",
	CorruptInfoROM:   "infoROM corrupted",
	GPUIsLost:        "the GPU has fallen off the bus or is otherwise inaccessible",
	ResetRequired:    "the GPU requires a reset",
	OperatingSystem:  "blocked by the operating system or its cgroups",
	VersionMismatch:  "versions of the library and the kernel driver differ",
	19:               "in use",
	20:               "out of memory",
	NoData:           "no data",
	VGPUECCNotFound:  "ECC not available with this vGPU",
	23:               "out of resources",
	24:               "frequency not supported",
	ArgumentVersion:  "the driver knows another version of the argument",
	Deprecated:       "deprecated",
	NotReady:         "not ready",
	GPUNotFound:      "no GPU found",
	29:               "invalid state",
	30:               "type of reset not supported",
	Unknown:          "unknown error in the driver",
	Panicked:         "the collector could not process the library's answer",
	NoReading:        "the driver reports no values, not even the size of its memory, as for a GPU that has fallen off the bus",
}

var codeRemedies = map[Code]string{
	NoPermission: "run the collector as a user that can open the /dev/nvidia* files, or as root if the driver restricts them; " +
		"in a container with MIG enabled, set NVIDIA_MIG_MONITOR_DEVICES=all and add CAP_SYS_ADMIN",
	DriverNotLoaded: "load the kernel module (nvidia-smi does); during an upgrade of the driver, wait until the upgrade or the driver container has loaded it",
	GPUIsLost:       "reset the GPU or reboot the node",
	ResetRequired:   "reset the GPU (nvidia-smi --gpu-reset)",
	OperatingSystem: "give the collector access to the GPU's device file",
	VersionMismatch: "restart the collector to load the new library; if the kernel module is the older one, reload it",
	Unknown:         "see the kernel log (dmesg)",
}

// Text returns what the code means.
func (c Code) Text() string {
	if text, ok := codeTexts[c]; ok {
		return text
	}
	return "error " + strconv.Itoa(int(c))
}

// Error returns what the code means, and the remedy if there is one.
func (c Code) Error() string {
	text := c.Text()
	if remedy, ok := codeRemedies[c]; ok {
		text += "; " + remedy
	}
	return text
}

// Answer is what a code means for the caller.
type Answer uint8

const (
	// Answered means that the call succeeded.
	Answered Answer = iota
	// NoValue means that there is no value now, and nothing is wrong.
	NoValue
	// Unsupported means that the device or the driver does not have it. The call is not repeated.
	Unsupported
	// Denied means that the collector may not make the call. It is not repeated, and is a problem.
	Denied
	// Failed means that the call failed. It is a problem, and is retried ever less often.
	Failed
	// DeviceGone means that the device is lost or needs a reset. No further calls for it are made in this read.
	DeviceGone
	// DriverGone means that the whole driver is gone.
	DriverGone
)

// Answer classifies the code.
func (c Code) Answer() Answer {
	switch c {
	case OK:
		return Answered
	case NotFound, NoData, NotReady:
		return NoValue
	case NotSupported, InvalidArgument, FunctionNotFound, ArgumentVersion, Deprecated, VGPUECCNotFound:
		return Unsupported
	case NoPermission, OperatingSystem:
		return Denied
	case GPUIsLost, ResetRequired:
		return DeviceGone
	case Uninitialized, DriverNotLoaded, VersionMismatch:
		return DriverGone
	default:
		return Failed
	}
}
