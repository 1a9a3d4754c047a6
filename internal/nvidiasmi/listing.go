// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// listingAge is how long a listing with MIG devices is trusted although the layout looks the same: a device may have been
// destroyed and made anew in between.
const listingAge = 10 * time.Minute

// listing is what -L and a table of three columns told: what XML does not have.
type listing struct {
	layout string // the layout for which it holds
	read   time.Time
	index  map[string]int                     // by UUID
	mig    map[string][]parse.ListedMIGDevice // by the GPU's UUID
	caps   map[string]string                  // compute capability by UUID
}

// layoutOf is a text that changes with the driver, the GPUs and their MIG devices.
func layoutOf(log *parse.Listing) (layout string, mig bool) {
	var b strings.Builder
	b.WriteString(log.DriverVersion)
	for i := range log.GPUs {
		g := &log.GPUs[i]
		b.WriteString("|" + g.Device.ID)
		for _, m := range g.MIGDevices {
			mig = true
			memory, _ := m.Memory.Limit.Get()
			fmt.Fprintf(&b, ";%s.%s.%s.%d", number(m.Index), number(m.GI), number(m.CI), memory)
		}
	}
	return b.String(), mig
}

func number(o gpu.Opt[int64]) string {
	if v, ok := o.Get(); ok {
		return strconv.FormatInt(v, 10)
	}
	return "-"
}

// stale tells whether a log needs another listing.
func (l *listing) stale(log *parse.Listing, now time.Time) bool {
	layout, mig := layoutOf(log)
	return layout != l.layout || mig && now.Sub(l.read) >= listingAge
}

// take keeps the outputs of the listing's commands for a log. It returns false, and keeps what it had, where they list
// nothing although there are GPUs, or not all that there is: MIG devices are told apart by their order.
func (l *listing) take(log *parse.Listing, results []command.Result, now time.Time) bool {
	list, whole := results[0].Lines()
	if !whole {
		return false
	}
	layout, _ := layoutOf(log)
	n := listing{layout: layout, read: now, index: map[string]int{}, mig: map[string][]parse.ListedMIGDevice{}, caps: map[string]string{}}
	for _, g := range parse.DeviceList(list) {
		n.index[g.UUID] = g.Index
		n.mig[g.UUID] = g.MIGDevices
	}
	if len(n.index) == 0 && len(log.GPUs) > 0 {
		return false
	}
	table, _ := parse.QueryGPU(linesAt(results, 1), identityColumns())
	for i := range table.GPUs {
		d := &table.GPUs[i].Device
		n.caps[d.ID] = d.Info.ComputeCapability
	}
	*l = n
	return true
}

// instance returns what was listed of the i-th of a GPU's MIG devices. -L numbers them one after the other, while the index in
// XML, NVML's, may leave numbers out; both go by NVML's order. Where they do not agree on how many there are, which one is which
// cannot be told: it is what it was before, by its place on the GPU.
func (l *listing) instance(g *parse.GPU, i int, before []gpu.Device) parse.ListedMIGDevice {
	listed := l.mig[g.Device.ID]
	switch m := &g.MIGDevices[i]; {
	case len(listed) == len(g.MIGDevices):
		return listed[i]
	case listed == nil || !m.GI.Known() || !m.CI.Known():
	default:
		for _, d := range before {
			if d.GPUInstance == asInt(m.GI) && d.ComputeInstance == asInt(m.CI) {
				return parse.ListedMIGDevice{UUID: d.ID, Profile: d.Info.Profile}
			}
		}
	}
	return parse.ListedMIGDevice{}
}

// refreshListing reads the listing anew where the layout has changed since. That it fails is a problem, not a failure of the
// read: the GPUs were read.
func (r *Reader) refreshListing(ctx context.Context, log *parse.Listing) {
	if !r.listing.stale(log, r.node.Time) {
		return
	}
	results, err := r.runner.Run(ctx, listingCommands(r.selected)...)
	if len(results) > 0 && r.listing.take(log, results, r.node.Time) {
		return
	}
	if layout, _ := layoutOf(log); layout != r.listing.layout {
		r.listing = listing{} // that of another layout would name the wrong devices
	}
	if len(results) > 0 {
		d := parse.Diagnose(results[0].Stdout, results[0].Stderr, results[0].ExitCode)
		err = fmt.Errorf("no GPU in its output, or not all: %s", firstOf(d.Message, "exit code 0"))
	}
	r.problem(gpu.ProblemQuantity, "", "MIG devices", fmt.Errorf("nvidia-smi -L: UUIDs of MIG devices and the GPUs' indices: %w", err))
}
