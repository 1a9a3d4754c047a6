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

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// maxSingleGPUs bounds how many GPUs one read queries one by one.
const maxSingleGPUs = 32

// maxAttached bounds the number of GPUs that the tool may claim.
const maxAttached = 256

var errTooManyGPUs = errors.New("there are too many of them")

// readRest queries one by one the GPUs that are missing in XML that broke off at the message about a GPU that cannot be
// reached, and reports whether there are any. It takes at most half of the time that is left. A GPU that is not read then leaves
// the listing incomplete.
func (q *queries) readRest(ctx context.Context, out *output) bool {
	rest := q.unprinted(out)
	if len(rest) == 0 {
		return false
	}
	bounded, cancel := half(ctx)
	defer cancel()
	var b batch
	for _, index := range rest[:min(len(rest), maxSingleGPUs)] {
		b.add(forSingle, queryXML([]int{index}))
	}
	res := b.run(bounded, q.runner)
	unread, reason := len(rest)-len(res.results), res.err
	for i := range res.results {
		if err := out.takeSingle(rest[i], &res.results[i]); err != nil {
			unread, reason = unread+1, err
		}
	}
	out.listing.Complete = unread == 0
	if unread > 0 {
		out.problem(gpu.ProblemQuantity, "", "GPUs", fmt.Errorf("nvidia-smi -q -x: its output ends at a GPU that cannot be reached, and %d of the %d GPUs after it "+
			"could not be read one by one (-i): %w", unread, len(rest), cmp.Or(reason, errTooManyGPUs)))
	}
	return true
}

// unprinted returns the indices of the GPUs that a listing lacks although the driver has them, and about which no message was printed. It
// returns nil if no GPU is known to be the reason. The tool lists GPUs by their index.
func (q *queries) unprinted(out *output) []int {
	all, printed := q.selection.gpus, len(out.listing.GPUs)
	if all == nil {
		attached, _ := out.listing.Attached.Get()
		for i := range min(attached, maxAttached) {
			all = append(all, int(i))
		}
	}
	reported := out.diagnosis.Unreachable
	if !out.reportsLost() || len(all) <= printed+len(reported) {
		return nil
	}
	all = slices.DeleteFunc(slices.Clone(all), func(index int) bool {
		return slices.ContainsFunc(reported, func(u parse.Unreachable) bool { return u.Index == gpu.Some(index) })
	})
	return all[min(printed, len(all)):]
}

// takeSingle takes the output of a query of one GPU. It returns an error if it says nothing about the GPU.
func (o *output) takeSingle(index int, result *command.Result) error {
	d := diagnose(result)
	listing, err := parse.XML(result.Stdout)
	switch {
	case err == nil && len(listing.GPUs) > 0:
		g := listing.GPUs[0]
		g.Device.Index = gpu.Some(index)
		g.Unreadable = g.Unreadable || !identified(&g.Device)
		o.listing.GPUs = append(o.listing.GPUs, g)
		o.listing.Dropped += listing.Dropped
		return nil
	case len(d.Unreachable) > 0:
		u := d.Unreachable[0]
		u.Index = gpu.Some(index)
		o.diagnosis.Unreachable = slices.DeleteFunc(o.diagnosis.Unreachable, func(entry parse.Unreachable) bool {
			return !entry.Index.Known() && (entry.PCI == "" || entry.PCI == u.PCI) // the same GPU, with less about it
		})
		o.diagnosis.Unreachable = append(o.diagnosis.Unreachable, u)
		return nil
	}
	return fmt.Errorf("-i %d: %s", index, cmp.Or(d.Message, "no GPU in its output"))
}

// half returns a context for half of the time that is left.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}
