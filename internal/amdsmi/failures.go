// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
)

// addProblems adds what could not be read to the node. err is the runner's. It reports whether the PCIe call did not end in time.
func (b *nodeBuilder) addProblems(t *tool, steps []step, answers map[step]answer, err error) (slowPCIe bool) {
	for _, st := range steps {
		a, ran := answers[st]
		if !ran {
			continue
		}
		if a.warning != "" && st == stepList {
			b.Problem(gpu.ProblemQuantity, "permissions", fmt.Errorf("%w: %s", smitext.ErrAccess, a.warning))
		}
		var refused *toolError
		if a.err == nil || optional(st) && (errors.As(a.err, &refused) || a.exception) {
			continue // this version or this machine does not have it
		}
		b.Problem(gpu.ProblemQuantity, string(st), fmt.Errorf("amd-smi %s: %w", st, a.err))
	}
	for _, st := range [...]step{stepStatic, stepMetric} {
		if e := t.exceptions[st]; e != nil && answers[st].err == nil {
			b.Problem(gpu.ProblemQuantity, string(st), fmt.Errorf("amd-smi %s ended with an exception, so it runs with fewer options now: %w", st, e))
		}
	}
	if err == nil {
		return false
	}
	unfinished := slices.IndexFunc(steps, func(st step) bool {
		_, ran := answers[st]
		return !ran && t.runs(st)
	})
	slowPCIe = unfinished >= 0 && steps[unfinished] == stepPCIe && errors.Is(err, command.ErrTimeout)
	if slowPCIe {
		err = fmt.Errorf("amd-smi metric --pcie takes a second for each GPU of this board, so PCIe traffic was not read: %w", err)
	}
	b.Problem(gpu.ProblemQuantity, "later commands", err)
	return slowPCIe
}

// optional reports whether a step is missing in some versions or on some machines.
func optional(st step) bool {
	return st == stepXGMI || st == stepPCIe || st == stepVersion || st == stepBadPages
}

// notMeasured completes a node whose GPUs were listed, but for which metric did not end.
func (b *nodeBuilder) notMeasured(err error) (*gpu.Node, error) {
	if len(b.Node.Devices) == 0 {
		return b.NotRun(err) // nothing identifies the GPUs
	}
	b.metricFailed(gpu.FailureTimeout, err)
	return &b.Node, nil
}

// metricFailed completes a node whose GPUs were listed, but for which metric printed nothing about any of them. A lost GPU stays lost.
func (b *nodeBuilder) metricFailed(reason gpu.FailureReason, err error) {
	err = fmt.Errorf("amd_smi: amd-smi metric: %w", err)
	b.Node.Failure = &gpu.Failure{Reason: reason, Err: err}
	for i := range b.Node.Devices {
		if d := &b.Node.Devices[i]; d.State() != gpu.StateFailed {
			*d = inventory.Identity(d)
			d.Unread, d.ProcessesUnread = true, true
		}
	}
	b.Node.Processes = nil
	b.Node.Presence = [gpu.NumPresences]gpu.Opt[int64]{}
}
