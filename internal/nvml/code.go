// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "strconv"

// code is what an NVML function returns (nvmlReturn_t). The library's own nvmlErrorString is not asked: it may be absent.
type code int32

const (
	codeOK                 code = 0
	codeUninitialized      code = 1
	codeInvalidArgument    code = 2
	codeNotSupported       code = 3
	codeNoPermission       code = 4
	codeNotFound           code = 6
	codeInsufficientSize   code = 7
	codeDriverNotLoaded    code = 9
	codeTimeout            code = 10
	codeLibraryNotFound    code = 12
	codeFunctionNotFound   code = 13
	codeGPUIsLost          code = 15
	codeResetRequired      code = 16
	codeOperatingSystem    code = 17
	codeVersionMismatch    code = 18 // library and kernel driver
	codeNoData             code = 21
	codeArgumentVersion    code = 25
	codeDeprecated         code = 26
	codeNotReady           code = 27
	codeGPUNotFound        code = 28
	codeUnknown            code = 999
	codePanicked           code = -1 // of ours: the binding panicked
	notAvailableInstanceID      = 0xFFFFFFFF
)

var codeTexts = map[code]string{
	codeOK:               "success",
	codeUninitialized:    "not initialised",
	codeInvalidArgument:  "invalid argument",
	codeNotSupported:     "not supported",
	codeNoPermission:     "not permitted",
	5:                    "already initialised",
	codeNotFound:         "not found",
	codeInsufficientSize: "the list grew while it was read",
	8:                    "external power cables are not attached properly",
	codeDriverNotLoaded:  "the NVIDIA driver is not loaded",
	codeTimeout:          "timed out inside the driver",
	11:                   "interrupt trouble of a GPU",
	codeLibraryNotFound:  "library not found",
	codeFunctionNotFound: "the library lacks the function",
	14:                   "the infoROM is corrupted",
	codeGPUIsLost:        "the GPU has fallen off the bus or is otherwise inaccessible",
	codeResetRequired:    "the GPU requires a reset",
	codeOperatingSystem:  "blocked by the operating system or its cgroups",
	codeVersionMismatch:  "the library and the kernel's driver are of different versions",
	19:                   "in use",
	20:                   "out of memory",
	codeNoData:           "no data",
	22:                   "ECC is not available with this vGPU",
	23:                   "out of resources",
	24:                   "the frequency is not supported",
	codeArgumentVersion:  "the driver knows another version of the argument",
	codeDeprecated:       "deprecated",
	codeNotReady:         "not ready",
	codeGPUNotFound:      "no GPU was found",
	29:                   "invalid state",
	30:                   "this type of reset is not supported",
	codeUnknown:          "unknown error inside the driver",
	codePanicked:         "the binding could not handle the library's answer",
}

var codeRemedies = map[code]string{
	codeNoPermission: "run the collector as a user that may open the /dev/nvidia* files, or as root where the driver restricts it; " +
		"in a container, with MIG on, with NVIDIA_MIG_MONITOR_DEVICES=all and CAP_SYS_ADMIN",
	codeDriverNotLoaded: "load the kernel module (nvidia-smi does), or wait until the driver container has",
	codeGPUIsLost:       "reset the GPU or reboot the node",
	codeResetRequired:   "reset the GPU (nvidia-smi --gpu-reset)",
	codeOperatingSystem: "give the collector access to the GPU's device file",
	codeVersionMismatch: "restart the collector, so that it loads the new library; reload the kernel module where it is the older one",
	codeUnknown:         "look into the kernel's log (dmesg)",
}

// Error is the meaning, and what to do where something can be done.
func (c code) Error() string {
	text, ok := codeTexts[c]
	if !ok {
		text = "error " + strconv.Itoa(int(c))
	}
	if remedy, ok := codeRemedies[c]; ok {
		text += "; " + remedy
	}
	return text
}

// gone are the codes after which a device is asked nothing more.
var gone = [...]code{
	codeGPUIsLost, codeResetRequired, codeUninitialized, codeDriverNotLoaded, codeVersionMismatch,
}

// answer is what a code means for whoever asked.
type answer uint8

const (
	answered   answer = iota
	nothing           // there is no value now, and nothing is wrong
	never             // the device or the driver cannot tell: do not ask again
	denied            // we may not ask: do not ask again, and say so
	troubled          // it failed: say so, and ask less often
	deviceGone        // the device is lost or needs a reset: ask it nothing more
	driverGone        // the whole driver is gone
)

func (c code) answer() answer {
	switch c {
	case codeOK:
		return answered
	case codeNotFound, codeNoData, codeNotReady:
		return nothing
	case codeNotSupported, codeInvalidArgument, codeFunctionNotFound, codeArgumentVersion, codeDeprecated, 22:
		return never
	case codeNoPermission, codeOperatingSystem:
		return denied
	case codeGPUIsLost, codeResetRequired:
		return deviceGone
	case codeUninitialized, codeDriverNotLoaded, codeVersionMismatch:
		return driverGone
	default:
		return troubled
	}
}
