// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// minors are the numbers of the GPUs' device nodes, /dev/nvidia<minor>, by which allocations name a GPU. They are no indices: the
// kernel's driver numbers GPUs in the order in which it meets them, the tool by PCI address. A table of GPUs does not have them,
// so that query: fast asks for one listing in XML where there is a GPU whose number is not known.
type minors struct {
	driver string // the version that gave the numbers
	// of has the GPUs that were told of: one without a number has no device node, as under Windows.
	of    map[string]gpu.Opt[int64]
	retry retry
	why   error // why the last question left numbers open
}

// minorKey is what a GPU is found by in both listings.
func minorKey(d *gpu.Device) string { return firstOf(d.ID, d.Info.PCIAddress) }

// follow forgets what a listing shows to be over: the numbers of another driver, and those of GPUs that the driver has lost, which
// may get others when they come back.
func (m *minors) follow(log *parse.Listing) {
	if log.DriverVersion != "" && log.DriverVersion != m.driver {
		*m = minors{driver: log.DriverVersion}
	}
	if !log.Complete {
		return
	}
	for key := range m.of {
		if !slices.ContainsFunc(log.GPUs, func(g parse.GPU) bool { return minorKey(&g.Device) == key && !isAway(&g) }) {
			delete(m.of, key)
		}
	}
}

const maxMinors = 1024

// keep takes the numbers from a listing in XML.
func (m *minors) keep(log *parse.Listing) {
	if m.of == nil || len(m.of) > maxMinors { // follow forgets those that are gone, but by whole listings alone
		m.of = make(map[string]gpu.Opt[int64], len(log.GPUs))
	}
	for i := range log.GPUs {
		g := &log.GPUs[i]
		refused := slices.ContainsFunc(g.Refusals, func(r parse.Refusal) bool { return r.Quantity == "minor_number" })
		if key := minorKey(&g.Device); key != "" && !refused && !isAway(g) {
			m.of[key] = g.Minor.Or(m.of[key])
		}
	}
}

// open counts the GPUs that can be read and whose number is not known.
func (m *minors) open(log *parse.Listing) (n int) {
	for i := range log.GPUs {
		g := &log.GPUs[i]
		if _, told := m.of[minorKey(&g.Device)]; !told && !isAway(g) {
			n++
		}
	}
	return n
}

// name is that of a GPU's device node. Where no GPU of the machine has one, it is after the index; where the node is not known,
// it is empty: a name after the index would be that of another GPU's node.
func (m *minors) name(g *parse.GPU) string {
	minor, told := m.of[minorKey(&g.Device)]
	if n, ok := g.Minor.Or(minor).Get(); ok {
		return "nvidia" + strconv.FormatInt(n, 10)
	}
	index, ok := g.Device.Index.Get()
	if !told || !ok {
		return ""
	}
	for _, other := range m.of {
		if other.Known() {
			return ""
		}
	}
	return "nvidia" + strconv.Itoa(index)
}

// refreshMinors completes the numbers for a listing that has none. That it fails costs the GPUs their names, not their readings,
// and is tried again less and less often.
func (r *Reader) refreshMinors(ctx context.Context, log *parse.Listing) {
	m := &r.minors
	m.follow(log)
	if m.open(log) == 0 {
		m.retry, m.why = retry{}, nil
		return
	}
	if m.retry.due(r.node.Time) {
		m.why = r.askMinors(ctx)
		m.retry.later(r.node.Time)
	}
	if open := m.open(log); open > 0 {
		why := m.why
		if why == nil {
			why = errors.New("it does not tell them")
		}
		r.problem(gpu.ProblemQuantity, "", "names", fmt.Errorf("nvidia-smi -q -x: the numbers of the device nodes (/dev/nvidia*) of %d of %d GPUs, which have no name without: %w",
			open, len(log.GPUs), why))
	}
}

// askMinors reads a listing in XML for the numbers. It tells of MIG, too, which a table of the basic fields does not.
func (r *Reader) askMinors(ctx context.Context) error {
	results, err := r.runner.Run(ctx, queryXML(r.selected))
	if len(results) == 0 {
		return err
	}
	log, err := parse.XML(results[0].Stdout)
	if err != nil {
		d := parse.Diagnose(results[0].Stdout, results[0].Stderr, results[0].ExitCode)
		return errors.New(firstOf(d.Message, err.Error()))
	}
	r.minors.keep(log)
	r.mig = r.mig || slices.ContainsFunc(log.GPUs, func(g parse.GPU) bool { return g.MIGEnabled == gpu.Some(true) })
	if !log.Complete {
		return errEndsEarly
	}
	return nil
}
