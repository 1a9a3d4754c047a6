// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// retryPolicy spaces out the queries that failed, and the reads of a machine on which there is nothing to read.
var retryPolicy = backoff.Policy{First: 10 * time.Second, Max: 5 * time.Minute}

// selection restricts the queries to the GPUs that have a device handle. One GPU without a handle makes a query of all GPUs
// end without any output about the others.
type selection struct {
	gpus   []int // indices; nil selects all GPUs
	listed []int // the indices that -L listed when gpus was chosen
	// retry spaces out the queries of all GPUs if -L listed more of them than have a handle.
	retry backoff.Backoff
}

// release selects all GPUs again when it is time to look whether the others have a handle now.
func (s *selection) release(now time.Time) {
	if len(s.gpus) < len(s.listed) && s.retry.Due(now) {
		s.gpus, s.listed = nil, nil
	}
}

// choose selects the GPUs that have a handle, after a query of all GPUs listed none. -L does not stop at a GPU without a handle. It returns
// false if no GPU has one, or if they cannot be determined.
func (s *selection) choose(ctx context.Context, runner command.Runner, now time.Time, out *output) bool {
	failed := func(err error) bool {
		out.problem(gpu.ProblemQuantity, "", "GPUs",
			fmt.Errorf("nvidia-smi: the query of all GPUs fails because one lacks a device handle, and the others cannot be selected: %w", err))
		return false
	}
	if s.gpus != nil {
		s.gpus, s.listed = nil, nil
		return failed(errors.New("-i with their indices fails, too"))
	}
	var b batch
	b.add(forSelection, queryList())
	res := b.run(ctx, runner)
	list, _ := res.find(forSelection)
	if list == nil {
		return failed(res.err)
	}
	lines, whole := list.Lines()
	if !whole {
		return failed(errEndsEarly)
	}
	s.listed = indicesOf(parse.DeviceList(lines))
	d := diagnose(list)
	if len(s.listed)+len(d.Unreachable) == 0 {
		return failed(errors.New(cmp.Or(d.Message, "nvidia-smi -L lists no GPU")))
	}
	for _, index := range s.listed {
		if !slices.ContainsFunc(out.diagnosis.Unreachable, func(u parse.Unreachable) bool { return u.Index == gpu.Some(index) }) {
			s.gpus = append(s.gpus, index)
		}
	}
	if len(s.gpus) < len(s.listed) {
		s.retry.Failed(now, retryPolicy)
	}
	out.allUnreachable = s.gpus == nil
	if out.allUnreachable && len(d.Unreachable) > len(out.diagnosis.Unreachable) {
		out.diagnosis.Unreachable = d.Unreachable // the query may have ended at the first of them
	}
	return s.gpus != nil
}

// holds reports whether -L still lists the GPUs among which some were selected. If not, all GPUs are selected again. It adds
// the GPUs that -L reports as unreachable to the output.
func (s *selection) holds(list *command.Result, out *output) bool {
	lines, _ := list.Lines()
	if !slices.Equal(indicesOf(parse.DeviceList(lines)), s.listed) {
		s.gpus, s.listed = nil, nil
		return false
	}
	out.diagnosis.Unreachable = append(out.diagnosis.Unreachable, diagnose(list).Unreachable...)
	return true
}

func indicesOf(listed []parse.ListedGPU) (indices []int) {
	for _, g := range listed {
		indices = append(indices, g.Index)
	}
	return indices
}
