// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// deviceMinors are the numbers of the GPUs' device nodes, /dev/nvidia<minor>, by which allocations name a GPU. They are not indices: the
// kernel driver numbers GPUs in the order in which it finds them, the tool by PCI address. A table of GPUs does not have them, so the fast
// query runs -q -x if the number of a GPU is unknown. From there it also has T.Limit's values at the limits.
type deviceMinors struct {
	driver string             // the version from which the numbers are
	byGPU  map[string]fromXML // the GPUs whose numbers were read
	retry  backoff.Backoff
	err    error // why the last query did not return all numbers
}

// fromXML is what XML alone has of a GPU, and what does not change while the driver has the GPU.
type fromXML struct {
	minor        gpu.Opt[int64] // A GPU without a number has no device node, as on Windows.
	tLimitPoints [gpu.NumLimits]gpu.Opt[float64]
}

// follow forgets outdated numbers: the numbers of another driver version, and the numbers of GPUs that the driver has lost, which may get
// others when they come back.
func (m *deviceMinors) follow(listing *parse.Listing) {
	if listing.DriverVersion != "" && listing.DriverVersion != m.driver {
		*m = deviceMinors{driver: listing.DriverVersion}
	}
	if !listing.Complete {
		return
	}
	for key := range m.byGPU {
		if !slices.ContainsFunc(listing.GPUs, func(g parse.GPU) bool { return minorKey(&g.Device) == key && !g.Unreadable }) {
			delete(m.byGPU, key)
		}
	}
}

// maxMinors bounds the numbers that are kept. follow removes GPUs that are gone, but only by complete listings.
const maxMinors = 1024

// take takes the numbers from a listing in XML.
func (m *deviceMinors) take(listing *parse.Listing) {
	if m.byGPU == nil || len(m.byGPU) > maxMinors {
		m.byGPU = map[string]fromXML{}
	}
	for i := range listing.GPUs {
		g := &listing.GPUs[i]
		if key := minorKey(&g.Device); key != "" && !g.MinorFailed && !g.Unreadable {
			m.byGPU[key] = fromXML{g.Minor.Or(m.byGPU[key].minor), g.TLimitPoints}
		}
	}
}

// unknown counts the readable GPUs whose number is not known.
func (m *deviceMinors) unknown(listing *parse.Listing) (n int) {
	for i := range listing.GPUs {
		g := &listing.GPUs[i]
		if _, known := m.byGPU[minorKey(&g.Device)]; !known && !g.Unreadable {
			n++
		}
	}
	return n
}

// refresh completes the numbers for a listing without them. If that fails the GPUs lack their names and nothing else, and the
// query is repeated with a back-off. broken is how the query broke off in this read or the one before: it is not run again then.
// refresh returns whether MIG is enabled on a GPU, which a table of the basic fields does not show.
func (m *deviceMinors) refresh(ctx context.Context, runner command.Runner, gpus []int, out *output, broken error, now time.Time) (mig bool) {
	m.follow(out.listing)
	if m.unknown(out.listing) == 0 {
		m.retry, m.err = backoff.Backoff{}, nil
		return false
	}
	switch {
	case broken != nil:
		m.err = broken
	case m.retry.Due(now):
		mig, m.err = m.query(ctx, runner, gpus)
		m.retry.Failed(now, retryPolicy)
	}
	if unknown := m.unknown(out.listing); unknown > 0 {
		out.problem(gpu.ProblemQuantity, "", "names", fmt.Errorf("nvidia-smi -q -x: %d of %d GPUs are without a name because the numbers of their device nodes "+
			"(/dev/nvidia*) are unknown: %w", unknown, len(out.listing.GPUs), cmp.Or(m.err, errNoMinor)))
	}
	return mig
}

var errNoMinor = errors.New("the output does not contain them")

func (m *deviceMinors) query(ctx context.Context, runner command.Runner, gpus []int) (mig bool, err error) {
	results, err := runner.Run(ctx, queryXML(gpus))
	if len(results) == 0 {
		return false, cmp.Or(err, errNoResult)
	}
	listing, err := parse.XML(results[0].Stdout)
	if err != nil {
		return false, errors.New(cmp.Or(diagnose(&results[0]).Message, err.Error()))
	}
	m.take(listing)
	mig = slices.ContainsFunc(listing.GPUs, func(g parse.GPU) bool { return g.MIGEnabled == gpu.Some(true) })
	if !listing.Complete {
		return mig, errEndsEarly
	}
	return mig, nil
}

// name returns the name of a GPU's device node. It is empty if the number is unknown, or the GPU has no device node, as on Windows: a name
// made of the index may be the name of another GPU's node.
func (m *deviceMinors) name(g *parse.GPU) string {
	if n, ok := g.Minor.Or(m.byGPU[minorKey(&g.Device)].minor).Get(); ok {
		return "nvidia" + strconv.FormatInt(n, 10)
	}
	return ""
}

// minorKey identifies a GPU in a table and in XML.
func minorKey(d *gpu.Device) string { return cmp.Or(d.ID, d.Info.PCIAddress) }
