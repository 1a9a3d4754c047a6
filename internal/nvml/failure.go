// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// failure is why NVML cannot be used at present.
type failure struct {
	reason gpu.FailureReason
	code   library.Code // what the driver answered; OK: it was not asked
	// silent: it says nothing about the GPUs, because the library or a right is missing. Otherwise they have failed.
	silent  bool
	restart bool   // only a new process can use NVML again
	what    string // for the problem
	err     error
}

// notLoaded returns the failure of a library that was not loaded.
func notLoaded(err error) failure {
	return failure{
		reason: gpu.FailureLibrary, silent: true, restart: errors.Is(err, library.ErrOtherLoaded), what: "library", err: err,
	}
}

// failureOf returns the failure of the whole driver.
func failureOf(code library.Code, err error) failure {
	f := failure{reason: gpu.FailureOther, code: code, silent: true, restart: code == library.VersionMismatch, what: "driver", err: err}
	switch code {
	case library.LibraryNotFound, library.FunctionNotFound, library.Panicked:
		f.reason = gpu.FailureLibrary
	case library.Timeout:
		f.reason, f.silent = gpu.FailureTimeout, false
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

// failure returns why no GPU was read, and whether that says nothing about the GPUs; nil where one was read, and where the driver answered for
// one that it has failed.
func (m *nodeMaker) failure() (_ *gpu.Failure, silent bool) {
	var hung, notBegun bool
	code := library.OK
	for i := range m.outcomes {
		switch o := &m.outcomes[i]; {
		case o.result != nil:
			return nil, false
		case o.hung:
			hung = true
		case o.notBegun:
			notBegun = true
		case code == library.OK || code.Answer() == library.Denied:
			code = o.code
		}
	}
	f := m.driver.unusable()
	switch {
	case f != nil:
	case hung:
		f = &failure{reason: gpu.FailureTimeout, err: errHung}
	case notBegun:
		f = &failure{reason: gpu.FailureTimeout, err: errNotBegun, silent: true}
	case code.Answer() == library.Denied, code.Answer() == library.DriverGone:
		of := failureOf(code, fmt.Errorf("nvml: read the GPUs: %w", code))
		f = &of
	default:
		return nil, false
	}
	return &gpu.Failure{Reason: f.reason, Err: f.err}, f.silent
}
