// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// selection is the indices of the GPUs of which a call is to tell; nil for all. A GPU without a handle makes a call for all
// of them end without a word about the others.
type selection []int

func (of selection) call(args ...string) command.Command {
	if of != nil {
		indices := make([]string, len(of))
		for i, n := range of {
			indices[i] = strconv.Itoa(n)
		}
		args = append(args, "-i", strings.Join(indices, ","))
	}
	return command.Command{Tool: command.NvidiaSMI, Args: args}
}

// reselect finds the GPUs that have a handle: -L goes on after one that has none. It returns false where there are none, or
// they cannot be found out.
func (r *Reader) reselect(ctx context.Context, s *sweep) bool {
	cannot := func(why error) bool {
		r.problem(gpu.ProblemQuantity, "", "GPUs", fmt.Errorf("nvidia-smi: one GPU has no handle, and the others cannot be read without it: %w", why))
		return false
	}
	if r.selected != nil {
		r.selected, r.selectedOf = nil, nil
		return cannot(errors.New("-i with their indices is refused, too"))
	}
	results, err := r.runner.Run(ctx, queryList())
	if len(results) == 0 {
		return cannot(err)
	}
	lines, whole := results[0].Lines()
	if !whole {
		return cannot(errEndsEarly)
	}
	r.selectedOf = indicesOf(parse.DeviceList(lines))
	d := parse.Diagnose(results[0].Stdout, results[0].Stderr, results[0].ExitCode)
	if len(r.selectedOf)+len(d.Unreachable) == 0 {
		return cannot(errors.New(firstOf(d.Message, "nvidia-smi -L lists no GPU"))) // not even those that are lost
	}
	for _, index := range r.selectedOf {
		if !slices.ContainsFunc(s.diagnosis.Unreachable, func(u parse.Unreachable) bool { return u.Index == gpu.Some(index) }) {
			r.selected = append(r.selected, index)
		}
	}
	if len(r.selected) < len(r.selectedOf) {
		r.reselected.later(r.node.Time)
	}
	s.allLost = r.selected == nil
	if s.allLost && len(d.Unreachable) > len(s.diagnosis.Unreachable) {
		s.diagnosis.Unreachable = d.Unreachable // the query may have ended at the first of them
	}
	return r.selected != nil
}

func indicesOf(listed []parse.ListedGPU) (indices selection) {
	for _, g := range listed {
		indices = append(indices, g.Index)
	}
	return indices
}

// holds tells whether -L lists the same GPUs as when some of them were selected; if not, the selection is given up. What -L
// says of the others goes to the diagnosis.
func (r *Reader) holds(s *sweep, list command.Result) bool {
	lines, _ := list.Lines()
	if !slices.Equal(indicesOf(parse.DeviceList(lines)), r.selectedOf) {
		r.selected, r.selectedOf = nil, nil
		return false
	}
	d := parse.Diagnose(list.Stdout, list.Stderr, list.ExitCode)
	s.diagnosis.Unreachable = append(s.diagnosis.Unreachable, d.Unreachable...)
	return true
}
