// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"errors"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// failure is the error of a read that lists no GPU although the tool could be run, or is missing. The known GPUs stay in the
// node: with the fault if the driver has reported something, otherwise unread.
type failure struct {
	error // what failed, why, and what to do

	reason gpu.FailureReason
	// fault is what is wrong with the known GPUs; absent if the failure says nothing about them.
	fault gpu.Opt[gpu.FaultType]
	// lasting is true if the failure does not pass quickly: attempts are spaced out if no GPU is known.
	lasting bool
	// toolMissing is true if attempts are spaced out although GPUs are known.
	toolMissing bool
	// driverAway is true if the driver or its GPUs are away, so that its counters start again when they come back.
	driverAway bool
	// breaks is true if the tool broke off or refused the call, so that another call may work.
	breaks bool
	// mute is true if nothing was said about the machine: a read that knows no GPU then has no node.
	mute bool
	// answered is true if the driver answered that it has no GPU: the machine was read.
	answered bool
}

// runError converts the error of a Runner. It returns a failure unless the machine could not be reached. A tool that does not end is a
// failure of the source: it may need longer than the timeout, and if the driver hangs, the tool does not show which GPU hangs.
func runError(err error) error {
	switch {
	case errors.Is(err, command.ErrNotFound):
		return &failure{error: err, reason: gpu.FailureToolMissing, lasting: true, toolMissing: true}
	case errors.Is(err, command.ErrShortage):
		return &failure{error: err, reason: gpu.FailureOther, mute: true}
	case errors.Is(err, command.ErrTimeout), errors.Is(err, command.ErrBusy):
		return &failure{error: err, reason: gpu.FailureTimeout}
	}
	return err
}

// toolError describes what the tool reported instead of listing GPUs.
func toolError(call string, d parse.Diagnosis, advice *advice) *failure {
	f := &failure{reason: gpu.FailureToolFailed, lasting: true}
	remedy := "run it by hand to see more"
	switch d.Failure {
	case parse.FailureDriverNotLoaded:
		f.reason, f.driverAway = gpu.FailureDriver, true // it is being upgraded, say
		remedy = advice.driver
	case parse.FailureDriverMismatch:
		f.reason, f.fault, f.driverAway, f.lasting = gpu.FailureDriver, gpu.Some(gpu.FaultDriverMismatch), true, false
		remedy = "the driver was updated while its old kernel module is still loaded: reboot, or unload the module and load the new one"
	case parse.FailureLibraryMissing:
		f.reason, f.driverAway = gpu.FailureLibrary, true
		remedy = advice.library
	case parse.FailureNoPermission:
		f.reason = gpu.FailurePermission
		remedy = advice.permission
	case parse.FailureNoDevices:
		f.fault, f.driverAway, f.answered = gpu.Some(gpu.FaultUnreachable), true, true
		remedy = advice.noGPU
	case parse.FailureToolMismatch:
		remedy = "run the nvidia-smi of the installed driver"
	case parse.FailureInit:
		f.lasting = false
		remedy = advice.initialise
	case parse.FailureUsage, parse.FailureUnsupported:
		remedy, f.breaks = "the installed version does not support the call", true
	case parse.FailureNone, parse.FailureOther:
		f.breaks = true
	}
	f.error = fmt.Errorf("%s: %s; %s", call, d.Message, remedy)
	return f
}
