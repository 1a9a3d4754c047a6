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
			b.problem(gpu.ProblemQuantity, "permissions", fmt.Errorf("%w: %s", smitext.ErrAccess, a.warning))
		}
		var refused *toolError
		if a.err == nil || optional(st) && (errors.As(a.err, &refused) || a.exception) {
			continue // this version or this machine does not have it
		}
		b.problem(gpu.ProblemQuantity, string(st), fmt.Errorf("amd-smi %s: %w", st, a.err))
	}
	for _, st := range [...]step{stepStatic, stepMetric} {
		if e := t.exceptions[st]; e != nil && answers[st].err == nil {
			b.problem(gpu.ProblemQuantity, string(st), fmt.Errorf("amd-smi %s ended with an exception, so it runs with fewer options now: %w", st, e))
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
	b.problem(gpu.ProblemQuantity, "later commands", err)
	return slowPCIe
}

// optional reports whether a step is missing in some versions or on some machines.
func optional(st step) bool {
	return st == stepXGMI || st == stepPCIe || st == stepVersion || st == stepBadPages
}

// notRun returns the node of the known GPUs when amd-smi could not be run or did not end.
func (b *nodeBuilder) notRun(err error) (*gpu.Node, error) {
	if err == nil {
		err = errors.New("no result")
	}
	return b.known.NotRun(&b.node, fmt.Errorf("amd_smi: %w", err))
}

// notMeasured completes a node whose GPUs were listed, but for which metric did not end.
func (b *nodeBuilder) notMeasured(err error) (*gpu.Node, error) {
	if len(b.node.Devices) == 0 {
		return b.notRun(err) // nothing identifies the GPUs
	}
	b.metricFailed(gpu.FailureTimeout, err)
	return &b.node, nil
}

// metricFailed completes a node whose GPUs were listed, but for which metric printed nothing about any of them. A lost GPU stays lost.
func (b *nodeBuilder) metricFailed(reason gpu.FailureReason, err error) {
	err = fmt.Errorf("amd_smi: amd-smi metric: %w", err)
	b.node.Failure = &gpu.Failure{Reason: reason, Err: err}
	for i := range b.node.Devices {
		if d := &b.node.Devices[i]; d.State() != gpu.StateFailed {
			*d = inventory.Identity(d)
			d.Unread, d.ProcessesUnread = true, true
		}
	}
	b.node.Processes = nil
	b.node.Presence = [gpu.NumPresences]gpu.Opt[int64]{}
}

// noGPUs returns a node in which no GPU is readable.
func (b *nodeBuilder) noGPUs(reason error, absent bool) *gpu.Node {
	b.problem(gpu.ProblemSource, "amd-smi", reason)
	b.energy.Missed(b.node.Time)
	return b.known.NoDevices(&b.node, reason, absent)
}
