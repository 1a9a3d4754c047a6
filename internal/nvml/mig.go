// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// mostInstances bounds what a GPU may claim to have; the hardware has at most 7 GPU instances of 1 compute instance each, or
// fewer of more.
const mostInstances = 64

// instance is one MIG instance of a board.
type instance struct {
	caller
	ident  *identity
	uuid   string
	alone  bool // the only compute instance of its GPU instance: what is measured of the one is the other's
	gpm    gpm
	roster roster
}

// readPartitioning finds out whether MIG is on and which instances there are, so that a change is followed at once. A GPU
// that cannot MIG is asked once.
func (b *board) readPartitioning() {
	on := false
	if b.can(fnMIGMode) {
		mode, ok := b.ask(fnMIGMode)
		on = ok && mode.number() == gonvml.DEVICE_MIG_ENABLE
	} else {
		on = b.mig && b.supported(fnMIGMode) // it failed before and is left alone for now
	}
	if b.fatal != codeOK {
		return
	}
	if on != b.mig {
		b.forget()
		b.mig = on
	}
	if !on {
		b.dropInstances(nil)
		return
	}
	if b.instancesChanged() {
		b.forget() // what the parent can tell depends on which instances exist
	}
}

// instancesChanged enumerates the instances and tells whether they are others than before.
func (b *board) instancesChanged() bool {
	if !b.static.migs.Known() && b.can(fnMIGMax) {
		if n, ret := b.handle.GetMaxMigDeviceCount(); b.ok(fnMIGMax, code(ret)) {
			b.static.migs = gpu.Some(min(n, mostInstances))
		}
	}
	n, _ := b.static.migs.Get()
	changed := false
	found := make([]*instance, 0, n)
	for i := range n {
		if !b.can(fnMIGHandle) {
			break
		}
		handle, ret := b.handle.GetMigDeviceHandleByIndex(i)
		if code(ret) == codeInvalidArgument { // the partitioning changed under our eyes
			continue
		}
		if !b.ok(fnMIGHandle, code(ret)) {
			continue
		}
		inst, fresh := b.instance(handle, i)
		if inst != nil {
			found = append(found, inst)
			changed = changed || fresh
		}
	}
	changed = changed || len(found) != len(b.migs)
	if b.fatal != codeOK || !changed {
		return false
	}
	perGI := map[gpu.Opt[int]]int{}
	for _, inst := range found {
		perGI[inst.ident.gi]++
	}
	for _, inst := range found {
		inst.alone = perGI[inst.ident.gi] == 1
	}
	b.dropInstances(found)
	return true
}

// instance finds an instance among those known by its UUID, or reads what it is.
func (b *board) instance(handle gonvml.Device, index int) (inst *instance, fresh bool) {
	uuid, ret := handle.GetUUID()
	if code(ret) != codeOK {
		if a := code(ret).answer(); a == deviceGone || a == driverGone {
			b.fatal = code(ret)
		}
		return nil, false
	}
	parent := b.ident.Load()
	for _, old := range b.migs {
		if old.uuid == uuid {
			old.handle, old.device = handle, pointer(handle)
			return old, false
		}
	}
	inst = &instance{uuid: uuid}
	inst.handle, inst.device, inst.batch = handle, pointer(handle), b.batch
	inst.has = b.has
	inst.gpm = gpm{calls: &inst.calls, direct: b.gpm.direct, request: b.gpm.request}
	inst.ident = &identity{model: parent.model, parent: parent.id, index: gpu.Some(index), info: parent.info}
	inst.calls.device = uuid
	if inst.can(fnGPUInstance) {
		if gi, ret := handle.GetGpuInstanceId(); inst.ok(fnGPUInstance, code(ret)) {
			inst.ident.gi = gpu.Some(gi)
		}
	}
	if inst.can(fnComputeInstance) {
		if ci, ret := handle.GetComputeInstanceId(); inst.ok(fnComputeInstance, code(ret)) {
			inst.ident.ci = gpu.Some(ci)
		}
	}
	if inst.can(fnName) {
		if name, ret := handle.GetName(); inst.ok(fnName, code(ret)) {
			inst.ident.info.Profile = profile(name)
		}
	}
	inst.ident.place(uuid, parent)
	inst.calls.device = inst.ident.id
	return inst, true
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
		d := out.device(inst.ident)
		d.ProcessesUnread = true // until they are
		if b.src.want.Has(gpu.GroupMemory) {
			d.Memory = inst.memory()
		}
		if b.src.want.Has(gpu.GroupECC) {
			inst.readECC(d)
		}
		if b.src.want.Has(gpu.GroupPipes) && inst.alone {
			inst.gpm.read(d, b.at, inst.handle, inst.device)
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
