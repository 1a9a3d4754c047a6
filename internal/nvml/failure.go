// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"errors"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// failure is why NVML cannot be used at present.
type failure struct {
	reason gpu.FailureReason
	code   library.Code // the driver's answer; OK if it was not called
	// silent: it says nothing about the GPUs, because the library, the kernel driver or a permission is missing. Otherwise they have
	// failed.
	silent  bool
	restart bool   // only a new process can use NVML again
	subject string // for the problem
	err     error
}

// notLoaded returns the failure of a library that was not loaded.
func notLoaded(err error) failure {
	return failure{
		reason: gpu.FailureLibrary, silent: true, restart: errors.Is(err, library.ErrOtherLoaded), subject: "library", err: err,
	}
}

// failureOf returns the failure of the whole driver.
func failureOf(code library.Code, err error) failure {
	f := failure{reason: gpu.FailureOther, code: code, silent: true, restart: code == library.VersionMismatch, subject: "driver", err: err}
	switch code {
	case library.LibraryNotFound, library.FunctionNotFound, library.Panicked:
		f.reason = gpu.FailureLibrary
	case library.Timeout:
		f.reason, f.silent = gpu.FailureTimeout, false
	case library.DriverNotLoaded, library.Uninitialized: // it is being upgraded, say
		f.reason = gpu.FailureDriver
	case library.GPUNotFound:
		f.reason, f.silent = gpu.FailureDriver, false
	default: // UNKNOWN is the answer of a container that has lost its device files
		switch code.Answer() {
		case library.Denied:
			f.reason = gpu.FailurePermission
		case library.DriverGone, library.DeviceGone:
			f.reason, f.silent = gpu.FailureDriver, false
		default:
		}
	}
	return f
}
