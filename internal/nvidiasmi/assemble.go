// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// assemble makes the node of what was read and what is remembered.
func (r *Reader) assemble(s *sweep) {
	r.memory.begin(s.log.DriverVersion)
	lost := 0
	for i := range s.log.GPUs {
		g := &s.log.GPUs[i]
		away := isAway(g)
		if away {
			lost++
		}
		k := r.memory.learn(&g.Device, away)
		g.Device.ProcessesUnread = away || !r.processesRead(s, g)
		r.node.Devices = append(r.node.Devices, g.Device)
		r.addInstances(g, k, away)
		r.refusals(g)
	}
	nameless := r.unreachable(s.diagnosis.Unreachable)
	r.memory.trim()
	if s.log.Complete {
		nameless = r.forgotten(nameless)
		r.count(s, lost, nameless)
	}
	for _, pci := range s.diagnosis.CorruptInfoROM {
		id := pci
		if k := r.memory.find(pci, ""); k != nil {
			id = k.device.ID
		}
		r.problem(gpu.ProblemQuantity, id, "infoROM", fmt.Errorf("nvidia-smi: the infoROM of the GPU at %s is corrupt; its identity and its error counts may be wrong", pci))
	}
	if r.pmon.refused != "" && r.pmon.driver == s.log.DriverVersion {
		r.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("nvidia-smi pmon: %s; processes are reported without it", r.pmon.refused))
	}
	r.once()
	r.addProcesses(s)
	r.unmonitored(s)
}

// processesRead tells whether a GPU without a process has none: XML and the table of processes say so, and pmon, which has
// a row for an idle GPU. The table names a GPU by its id alone.
func (r *Reader) processesRead(s *sweep, g *parse.GPU) bool {
	index, known := g.Device.Index.Get()
	return r.wantsProcesses() && (g.ProcessesRead || s.appsRead && g.Device.ID != "" || known && s.pmon.GPUs[int64(index)])
}

// count fills the presence: GPUs that are read, and GPUs that are there and cannot be read. Those that the driver counts and
// the tool leaves out without a word are among the latter.
func (r *Reader) count(s *sweep, lost int, nameless []parse.Unreachable) {
	all := int64(len(r.memory.gpus) + len(nameless))
	if attached, ok := s.log.Attached.Get(); ok {
		all = max(all, attached)
	}
	visible := int64(len(s.log.GPUs) - lost)
	r.node.Presence[gpu.Visible] = gpu.Some(visible)
	r.node.Presence[gpu.Missing] = gpu.Some(max(0, all-visible))
}

// number gives the GPUs their indices, which XML does not print, and their names. Where -L did not tell it, the index is that
// of the selection, or the place in the list, the GPUs without a handle counted.
func (r *Reader) number(s *sweep) {
	taken := map[int]bool{}
	for _, u := range s.diagnosis.Unreachable {
		if n, ok := u.Index.Get(); ok {
			taken[n] = true
		}
	}
	next := 0
	for i := range s.log.GPUs {
		g := &s.log.GPUs[i]
		d := &g.Device
		for taken[next] {
			next++
		}
		if n, ok := r.listing.index[d.ID]; ok && d.ID != "" {
			d.Index = d.Index.Or(gpu.Some(n))
		}
		if len(r.selected) == len(s.log.GPUs) {
			d.Index = d.Index.Or(gpu.Some(r.selected[i]))
		}
		d.Index = d.Index.Or(gpu.Some(next))
		index, _ := d.Index.Get()
		next = index + 1
		d.Info.ComputeCapability = firstOf(d.Info.ComputeCapability, r.listing.caps[d.ID])
		d.Name = r.minors.name(g)
	}
}

// placeName tells a GPU of which nothing but the index is known from others. It is none that a device node has: which one is the
// GPU's is not known.
func placeName(index gpu.Opt[int]) string {
	if n, ok := index.Get(); ok {
		return "gpu" + strconv.Itoa(n)
	}
	return ""
}

// mostQuantities is how many quantities a problem names.
const mostQuantities = 6

// refusals turns the reasons that stand in the place of numbers into one problem for each reason. A failed GPU refuses
// everything, and its fault says why.
func (r *Reader) refusals(g *parse.GPU) {
	if g.Device.State() == gpu.StateFailed {
		return
	}
	var reasons []string
	quantities := map[string][]string{}
	for _, refusal := range g.Refusals {
		if quantities[refusal.Reason] == nil {
			reasons = append(reasons, refusal.Reason)
		}
		quantities[refusal.Reason] = append(quantities[refusal.Reason], refusal.Quantity)
	}
	for _, reason := range reasons {
		what := quantities[reason]
		if more := len(what) - mostQuantities; more > 0 {
			what = append(what[:mostQuantities:mostQuantities], fmt.Sprintf("%d more", more))
		}
		list := strings.Join(what, ", ")
		r.problem(gpu.ProblemQuantity, g.Device.ID, list, fmt.Errorf("nvidia-smi: %s: %s: %s%s", firstOf(g.Device.ID, g.Device.Info.PCIAddress), list, reason, remedyFor(reason)))
	}
}

func remedyFor(reason string) string {
	if strings.Contains(strings.ToLower(reason), "permission") {
		return "; run it as root, or outside of a container that hides them, " +
			"or there, with MIG on, with NVIDIA_MIG_MONITOR_DEVICES=all and CAP_SYS_ADMIN"
	}
	return "; see the kernel's log"
}
