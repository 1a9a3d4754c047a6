// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// output is what the commands of one read printed.
type output struct {
	call      string // the command that lists the GPUs
	advice    *advice
	listing   *parse.Listing // nil if no GPU is listed because of GPUs without a device handle
	diagnosis parse.Diagnosis
	// allUnreachable is true if no GPU has a device handle.
	allUnreachable bool

	apps     []parse.Process // of --query-compute-apps
	appsRead bool
	pmon     parse.PmonOutput
	// pmonOmits is the message by which pmon explains that it omits GPUs, such as a GPU that is shared among virtual machines.
	pmonOmits string
	// pmonFailed is true if pmon failed for all GPUs because of one that is unreachable.
	pmonFailed bool
	// migUnread is true if the table replaces -q -x, which alone prints MIG devices.
	migUnread bool

	problems []gpu.Problem
}

func (o *output) problem(kind gpu.ProblemKind, device, subject string, err error) {
	o.problems = append(o.problems, gpu.Problem{Kind: kind, Device: device, What: subject, Err: err})
}

// hasUnreachable reports whether a GPU cannot be reached. That explains an exit code, and the failure of other commands.
func (o *output) hasUnreachable() bool {
	attached, known := o.listing.Attached.Get()
	if len(o.diagnosis.Unreachable) > 0 || known && attached > int64(len(o.listing.GPUs)) {
		return true
	}
	return slices.ContainsFunc(o.listing.GPUs, func(g parse.GPU) bool { return g.Device.State() == gpu.StateFailed })
}

// reportsLost reports whether the tool printed a message about a GPU that it cannot reach, or such a message instead of the GPU.
func (o *output) reportsLost() bool {
	return len(o.diagnosis.Unreachable) > 0 || slices.ContainsFunc(o.listing.GPUs, func(g parse.GPU) bool { return g.Unreadable || g.ResetRequired })
}

// accept takes the listing that the call printed, or explains why it is missing. Data counts before messages and exit codes: the tool exits
// with a code for one lost GPU after it has listed the others. Without an error, the output has no listing only if GPUs without a device
// handle are the reason. A GPU with nothing that identifies it counts as unreadable.
func (o *output) accept(listing *parse.Listing, err error) error {
	d := &o.diagnosis
	switch {
	case err == nil && len(listing.GPUs) > 0:
		o.listing = listing
	case len(d.Unreachable) > 0: // each of them is lost, or one makes the call fail for the others
		return nil
	case d.Failure != parse.FailureNone:
		return toolError(o.call, *d, o.advice)
	case err != nil:
		return &failure{error: fmt.Errorf("%s: %w", o.call, err), reason: gpu.FailureOutput, breaks: true, mute: true}
	case listing.Complete:
		d.Failure, d.Message = parse.FailureNoDevices, "it lists no GPU"
		return toolError(o.call, *d, o.advice)
	default:
		return &failure{error: fmt.Errorf("%s: the output ends before the end of the first GPU", o.call), reason: gpu.FailureToolFailed, breaks: true, mute: true}
	}
	for i := range listing.GPUs {
		g := &listing.GPUs[i]
		g.Unreadable = g.Unreadable || !identified(&g.Device)
	}
	return nil
}

// explain adds the problems of the listing. cut is false if another problem says that GPUs are missing.
func (o *output) explain(cut bool) {
	if cut && !o.listing.Complete {
		o.problem(gpu.ProblemQuantity, "", "output", fmt.Errorf("%s: the output ends early or contains unreadable rows; GPUs may be missing", o.call))
	}
	if n := o.listing.Dropped; n > 0 {
		o.problem(gpu.ProblemQuantity, "", "rows", fmt.Errorf("%s: %d GPUs, processes or rows are unreadable or exceed the limit", o.call, n))
	}
	if d := &o.diagnosis; d.Failure != parse.FailureNone && len(d.CorruptInfoROM) == 0 && !o.hasUnreachable() {
		o.problem(gpu.ProblemQuantity, "", "exit code", fmt.Errorf("%s: it lists GPUs but reports: %s", o.call, d.Message))
	}
}

// resultOf returns the result of the command with a purpose, or nil. A command that could not be run becomes a problem.
func (o *output) resultOf(r results, p purpose, call string, kind gpu.ProblemKind, subject string) *command.Result {
	result, queried := r.find(p)
	if queried && result == nil {
		o.problem(kind, "", subject, fmt.Errorf("%s: %w", call, r.err))
	}
	return result
}

// readApps reads the table of --query-compute-apps, if it was queried.
func (o *output) readApps(r results) {
	const call = "nvidia-smi --query-compute-apps"
	result := o.resultOf(r, forApps, call, gpu.ProblemProcesses, "processes")
	if result == nil {
		return
	}
	lines, whole := result.Lines()
	apps, found, dropped := parse.ComputeApps(lines, appColumns())
	switch {
	case !found:
		o.problem(gpu.ProblemProcesses, "", "processes", fmt.Errorf("%s: %s", call, cmp.Or(diagnose(result).Message, "no table in its output")))
	case !whole:
		o.problem(gpu.ProblemProcesses, "", "processes", fmt.Errorf("%s: %w", call, errEndsEarly))
	}
	if dropped > 0 {
		o.problem(gpu.ProblemQuantity, "", "process rows", fmt.Errorf("%s: %d rows are unreadable or exceed the limit", call, dropped))
	}
	o.apps, o.appsRead = apps, found && whole
}

// identified reports whether a GPU has an ID or a PCI address. An index alone does not distinguish it from another GPU.
func identified(d *gpu.Device) bool { return d.ID != "" || d.Info.PCIAddress != "" }
