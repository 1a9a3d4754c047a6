// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// instance is one MIG instance of a board.
type instance struct {
	caller
	ident  *identity
	uuid   string
	place  int  // the index under which the GPU hands it out
	unread bool // it could not be had in the present read
	alone  bool // the only compute instance of its GPU instance: what is measured of the one is the other's
	gpm    gpm
	roster roster
}

// dropInstances lets go of the instances that are not among those that stay.
func (b *board) dropInstances(stay []*instance) {
	for _, old := range b.migs {
		kept := false
		for _, inst := range stay {
			kept = kept || inst == old
		}
		if !kept {
			old.gpm.free()
		}
	}
	if len(stay) == 0 && len(b.migs) == 0 {
		return
	}
	b.migs = stay
	family := make([]*identity, len(stay))
	for i, inst := range stay {
		family[i] = inst.ident
	}
	b.family.Store(&family)
}

// readInstances reads what the driver tells of an instance: its memory and the errors in it, its processes and, on Hopper and
// later, its pipes.
func (b *board) readInstances(out *reading) {
	for _, inst := range b.migs {
		inst.begin()
		if !inst.unread {
			b.identifyInstance(inst)
		}
		d := out.device(inst.ident)
		d.ProcessesUnread = true // until they are
		if inst.unread {
			out.problems = append(out.problems, inst.problems...)
			continue
		}
		if b.src.want.Has(gpu.GroupMemory) {
			d.Memory = inst.memory()
		}
		if b.src.want.Has(gpu.GroupECC) {
			inst.readECC(d)
		}
		if b.src.want.Has(gpu.GroupPipes) && inst.alone {
			inst.gpm.read(b.at, inst.handle, inst.device, false)
			inst.gpm.put(d)
		}
		if b.src.want.Has(gpu.GroupProcesses | gpu.GroupProcessUtilization) {
			d.ProcessesUnread = !inst.list(&inst.roster)
			for _, p := range inst.roster.all {
				out.processes = append(out.processes, gpu.Process{
					PID: int64(p.pid), DeviceID: inst.ident.id, Type: p.kind, Memory: p.memory,
				})
			}
		}
		if inst.fatal != codeOK {
			b.fatal = inst.fatal
			return
		}
		out.problems = append(out.problems, inst.problems...)
	}
}
