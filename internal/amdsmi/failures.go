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
)

// addProblems adds what could not be read to the node.
func (s *Source) addProblems(steps []step, answers map[step]answer, err error) {
	for _, st := range steps {
		a, ran := answers[st]
		if !ran {
			continue
		}
		if a.warning != "" && st == stepList {
			s.problem(gpu.ProblemQuantity, "permissions", fmt.Errorf("%w: %s", smitext.ErrAccess, a.warning))
		}
		var refused *toolError
		if a.err == nil || optional(st) && (errors.As(a.err, &refused) || a.exception) {
			continue // this version or this machine does not have it
		}
		s.problem(gpu.ProblemQuantity, string(st), fmt.Errorf("amd-smi %s: %w", st, a.err))
	}
	if _, ran := answers[stepPCIe]; ran {
		s.timeouts = 0
	}
	for _, st := range [...]step{stepStatic, stepMetric} {
		if e := s.exceptions[st]; e != nil && answers[st].err == nil {
			s.problem(gpu.ProblemQuantity, string(st), fmt.Errorf("amd-smi %s ends with an exception and is run with fewer options: %w", st, e))
		}
	}
	if err == nil {
		return
	}
	unfinished := slices.IndexFunc(steps, func(st step) bool {
		_, ran := answers[st]
		return !ran && arguments(st, s.want, s.refused) != nil
	})
	if unfinished >= 0 && steps[unfinished] == stepPCIe && errors.Is(err, command.ErrTimeout) {
		s.timeouts++
		err = fmt.Errorf("amd-smi metric --pcie measures traffic for a second per device on this board: %w", err)
	}
	s.problem(gpu.ProblemQuantity, "later commands", err)
}

// optional reports whether a step is missing in some versions or on some machines.
func optional(st step) bool { return st == stepXGMI || st == stepPCIe || st == stepVersion }

// notRun returns the node of the known GPUs when amd-smi could not be run or did not end.
func (s *Source) notRun(err error) (*gpu.Node, error) {
	if err == nil {
		err = errors.New("no result")
	}
	return s.known.NotRun(&s.node, fmt.Errorf("amd_smi: %w", err))
}

// notMeasured completes a node whose GPUs were listed, but for which metric did not end.
func (s *Source) notMeasured(err error) (*gpu.Node, error) {
	if len(s.node.Devices) == 0 {
		return s.notRun(err) // the GPUs cannot be told apart
	}
	s.node.Unread = true
	message := fmt.Sprintf("amd_smi: amd-smi metric: %s", err)
	for i := range s.node.Devices {
		if d := &s.node.Devices[i]; d.State() != gpu.StateFailed { // a lost GPU stays lost
			d.AddFault(gpu.FaultHung, message)
		}
	}
	listed, _ := s.node.Presence[gpu.Visible].Get()
	lost, _ := s.node.Presence[gpu.Missing].Get()
	s.node.Presence[gpu.Visible], s.node.Presence[gpu.Missing] = gpu.Some(int64(0)), gpu.Some(listed+lost)
	return &s.node, nil
}

// noDevices returns the node of the known GPUs when amd-smi ended without a device.
func (s *Source) noDevices(err error) (*gpu.Node, error) {
	if err == nil {
		err = smitext.NoDevice()
	}
	err = fmt.Errorf("amd-smi list: %w", err)
	absent := errors.Is(err, smitext.ErrNoDriver) || errors.Is(err, smitext.ErrNoDevice)
	if !absent && !errors.Is(err, smitext.ErrAccess) {
		err = fmt.Errorf("amd_smi: %w", err)
		var refused *toolError
		if errors.As(err, &refused) && s.known.Unreadable(&s.node, gpu.FaultUnreachable, err) {
			s.node.Problems = append(s.node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: "amd-smi", Err: err})
			return &s.node, nil
		}
		return nil, err
	}
	s.static, s.listed = nil, nil
	s.retry.Failed(s.node.Time, err, absent)
	return s.noGPUs(), nil
}

// noGPUs returns a node in which no GPU is readable.
func (s *Source) noGPUs() *gpu.Node {
	s.problem(gpu.ProblemSource, "amd-smi", s.retry.Reason)
	s.energy.Missed(s.node.Time)
	return s.known.NoDevices(&s.node, s.retry.Reason, s.retry.Absent)
}

func (s *Source) problem(kind gpu.ProblemKind, what string, err error) {
	s.node.Problems = append(s.node.Problems, gpu.Problem{Kind: kind, What: what, Err: fmt.Errorf("amd_smi: %w", err)})
}
