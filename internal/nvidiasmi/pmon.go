// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// pmon is what is known about pmon on this machine.
type pmon struct {
	refused string          // the message by which the installed version refuses it on these GPUs; empty if it does not
	driver  string          // the version for which that holds
	retry   backoff.Backoff // a GPU that was failing may have been the reason
}

// due reports whether to run pmon with the driver of a version.
func (p *pmon) due(driver string, now time.Time) bool {
	return p.refused == "" || p.driver != driver || p.retry.Due(now)
}

// read takes the output of pmon, if it was queried.
func (p *pmon) read(r results, out *output, now time.Time) {
	const call = "nvidia-smi pmon"
	result := out.resultOf(r, forPmon, call, gpu.ProblemQuantity, "process utilization")
	if result == nil {
		return
	}
	lines, whole := result.Lines()
	monitored, err := parse.Pmon(lines)
	switch {
	case err != nil:
		d := diagnose(result)
		switch refused := d.Failure == parse.FailureUnsupported || d.Failure == parse.FailureUsage; {
		case out.hasUnreachable() && !out.pmonFailed: // one bad GPU makes it fail for all
			out.pmonFailed = true
			return
		case refused && !out.hasUnreachable():
			p.refused, p.driver = d.Message, out.listing.DriverVersion
			p.retry.Failed(now, retryPolicy)
			return // report says so with every read
		}
		out.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("%s: %s", call, cmp.Or(d.Message, err.Error())))
	case !whole:
		monitored.GPUs = nil // a process that is missing may have been cut off
		out.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("%s: %w", call, errEndsEarly))
	}
	if err == nil {
		*p = pmon{}
	}
	if d := parse.Diagnose(result.Stdout, result.Stderr, 0); d.Failure == parse.FailureUnsupported {
		out.pmonOmits = d.Message
	}
	if monitored.Dropped > 0 {
		out.problem(gpu.ProblemQuantity, "", "process rows", fmt.Errorf("%s: %d rows are unreadable or exceed the limit", call, monitored.Dropped))
	}
	out.pmon = monitored
}

// retryReachable runs pmon for the reachable GPUs, if it failed because of one that is not.
func (p *pmon) retryReachable(ctx context.Context, runner command.Runner, out *output, now time.Time) {
	if !out.pmonFailed {
		return
	}
	var reachable []int
	for i := range out.listing.GPUs {
		d := &out.listing.GPUs[i].Device
		if index, ok := d.Index.Get(); ok && d.State() != gpu.StateFailed {
			reachable = append(reachable, index)
		}
	}
	if reachable == nil {
		return
	}
	var b batch
	b.add(forPmon, queryPmon(reachable))
	p.read(b.run(ctx, runner), out, now)
}

// report adds the problem that the installed version refuses pmon.
func (p *pmon) report(out *output) {
	if p.refused != "" && p.driver == out.listing.DriverVersion {
		out.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("nvidia-smi pmon: %s; processes are reported without utilization", p.refused))
	}
}

// pmonProblems returns the GPUs that pmon omits although they are reachable, as it limits their number, and those about whose
// processes it says nothing.
func pmonProblems(out *output, all []gpu.Process) (problems []gpu.Problem) {
	if len(out.pmon.GPUs) == 0 {
		return nil
	}
	omitted, nameless, gpus := 0, 0, out.listing.GPUs
	for i := range gpus {
		g := &gpus[i]
		index, known := g.Device.Index.Get()
		enabled, _ := g.MIGEnabled.Get()
		switch {
		case !known || enabled || g.Device.State() == gpu.StateFailed:
		case !out.pmon.GPUs[int64(index)]:
			omitted++
		case hidesProcess(out, g, all):
			nameless++
		}
	}
	if nameless > 0 {
		problems = append(problems, gpu.Problem{What: "process names", Err: fmt.Errorf("nvidia-smi pmon: the name of a process is unreadable on %d of %d GPUs, "+
			"so the utilization of all processes there is missing; run it where the processes of the machine are visible (hostPID: true)", nameless, len(gpus))})
	}
	if omitted > 0 {
		problems = append(problems, gpu.Problem{What: "process utilization", Err: fmt.Errorf("nvidia-smi pmon: %d of %d GPUs are missing in its output; %s",
			omitted, len(gpus), cmp.Or(out.pmonOmits, "set NVSMI_SHOW_ALL_DEVICES=1 where it runs"))})
	}
	return problems
}

// hidesProcess reports whether a GPU has a process without a name, and pmon shows none of its processes.
func hidesProcess(out *output, g *parse.GPU, all []gpu.Process) bool {
	for i := range out.pmon.Processes {
		if index, ok := out.pmon.Processes[i].Index.Get(); ok && g.Device.Index == gpu.Some(int(index)) {
			return false
		}
	}
	return slices.ContainsFunc(all, func(p gpu.Process) bool {
		return deviceRef{p.DeviceID, p.Location} == refOf(g) && p.Command == ""
	})
}
