// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// readLocal returns what the sources of this machine can read: first those that have found GPUs.
func readLocal(ctx context.Context, receiver string, e *gpureceiver.Examination) []Section {
	var sections, without []Section
	e.ReadLocal(ctx, func(read gpureceiver.LocalRead) {
		s := Section{Name: fmt.Sprintf("%s: %s (%s GPUs of this machine)", receiver, read.Scraper, read.Vendor)}
		s.addNode(&read)
		if len(read.Node.Devices) > 0 {
			sections = append(sections, s)
		} else {
			without = append(without, s)
		}
	})
	return append(sections, without...)
}

// addNode says of a read which GPUs there are, and what of them could not be read.
func (s *Section) addNode(read *gpureceiver.LocalRead) {
	n := read.Node
	failed := Failed
	if read.Optional && !n.HasGPU() {
		failed = Absent // as the receiver's log has it
	}
	s.addSource(n, failed)
	for i := range n.Devices {
		s.addDevice(&n.Devices[i])
	}
	if n.RestartNeeded != nil {
		s.add(Failed, "restart", n.RestartNeeded.Error())
	}
	for _, p := range grouped(n) {
		s.add(failed, p.description, p.found())
	}
}

// addSource says whether the source was read, and the number of its GPUs.
func (s *Section) addSource(n *gpu.Node, failed State) {
	var counts []string
	for _, c := range []struct {
		presence    gpu.Presence
		description string
	}{{gpu.Visible, "read"}, {gpu.Missing, "missing"}, {gpu.Unmanaged, "bound to another driver"}} {
		if count, known := n.Presence[c.presence].Get(); known && (count > 0 || c.presence == gpu.Visible) {
			counts = append(counts, fmt.Sprintf("%d %s", count, c.description))
		}
	}
	gpus := "GPUs: " + cmp.Or(strings.Join(counts, ", "), "their number is unknown")
	if failed == Absent && onBus(n) == gpu.Some[int64](0) {
		gpus = "no GPU of this vendor on the PCI bus"
	}
	if n.Failure != nil {
		s.add(failed, "source", gpus+"; "+n.Failure.Error())
		s.Checks[len(s.Checks)-1].Reason = record.FailureName(n.Failure.Reason)
		return
	}
	state := OK
	if missing, _ := n.Presence[gpu.Missing].Get(); missing > 0 {
		state = Failed
	} else if !n.HasGPU() {
		state = failed
		if failed == Failed && n.HasProblem(gpu.ProblemSource) {
			state = Note // the problem is the failure
		}
	}
	s.add(state, "source", gpus)
}

// onBus is the number of GPUs on the PCI bus that the source does not read; absent if the bus could not be listed.
func onBus(n *gpu.Node) gpu.Opt[int64] {
	missing, _ := n.Presence[gpu.Missing].Get()
	unmanaged, listed := n.Presence[gpu.Unmanaged].Get()
	if !listed {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(missing + unmanaged)
}

// addDevice says what a device is, and what is wrong with it. Only a device that was not read, or that has failed, is a failure here: other
// faults are readings.
func (s *Section) addDevice(d *gpu.Device) {
	subject := "GPU"
	if d.Parent != "" {
		subject = "partition"
	}
	if index, known := d.CurrentIndex.Get(); known {
		subject += fmt.Sprintf(" %d", index)
	}
	described := []string{cmp.Or(d.Model, "model unknown")}
	for _, part := range []struct{ key, value string }{
		{"", d.ID},
		{"", d.Name},
		{"at ", d.Info.PCIAddress},
		{"driver ", d.Info.DriverVersion},
		{"firmware ", d.Info.FirmwareVersion},
		{"profile ", d.Info.Profile},
	} {
		if part.value != "" {
			described = append(described, part.key+part.value)
		}
	}
	state := OK
	if d.Unread || d.State() == gpu.StateFailed {
		state = Failed
	}
	if d.Unread {
		described = append(described, "not read this time")
	}
	for _, f := range d.Faults {
		described = append(described, f.Message+"; "+gpu.RemedyFor(f.Type).First)
	}
	s.add(state, subject, strings.Join(described, ", "))
}

// problem is what could not be read of some devices for one reason.
type problem struct {
	description, reason string
	devices             []string // empty: of the node
}

// found says what was attempted, and for how many devices.
func (p *problem) found() string {
	switch len(p.devices) {
	case 0:
		return p.reason
	case 1:
		return "of " + p.devices[0] + ": " + p.reason
	default:
		return fmt.Sprintf("of %d GPUs, the first %s: %s", len(p.devices), p.devices[0], p.reason)
	}
}

// grouped returns the problems of a node, those that several devices have as one. What Failure says is not repeated.
func grouped(n *gpu.Node) []*problem {
	var all []*problem
	for i := range n.Problems {
		p := &n.Problems[i]
		reason := p.Err.Error()
		if n.Failure != nil && p.Kind == gpu.ProblemSource && reason == n.Failure.Error() {
			continue
		}
		index := slices.IndexFunc(all, func(other *problem) bool { return other.description == p.What && other.reason == reason })
		if index < 0 {
			index = len(all)
			all = append(all, &problem{description: p.What, reason: reason})
		}
		if p.Device != "" {
			all[index].devices = append(all[index].devices, p.Device)
		}
	}
	return all
}
