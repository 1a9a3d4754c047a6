// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"fmt"
	"slices"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// mostInstances bounds what a GPU may claim to have; the hardware has at most 7 GPU instances of 1 compute instance each, or
// fewer of more.
const mostInstances = 64

// readPartitioning finds out whether MIG is on and which instances there are, so that a change is followed at once. A GPU
// that cannot MIG is asked once.
//
// What cannot be found out stays as it is known, for it is no sign of a change: without its instances the GPU would be said
// to run their processes, and whoever was given an instance would be without one.
func (b *board) readPartitioning() {
	on := b.partitioned()
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
		b.repartitioned() // what the parent can tell depends on which instances exist
	}
}

// partitioned tells whether MIG is on, as far as is known.
func (b *board) partitioned() bool {
	mode, ok := b.ask(fnMIGMode)
	switch {
	case ok:
		b.migTold = true
		return mode.number() == gonvml.DEVICE_MIG_ENABLE
	case mode != nil && mode.code().answer() == never:
		return false
	case !b.migTold && (mode != nil || b.supported(fnMIGMode)):
		b.migTold = b.anyInstance()
		return b.migTold
	default:
		return b.mig
	}
}

// anyInstance tells whether there is an instance, which shows that MIG is on where nothing else does.
func (b *board) anyInstance() bool {
	for i := range b.instanceLimit() {
		if !b.can(fnMIGHandle) {
			break
		}
		if _, ret := b.handle.GetMigDeviceHandleByIndex(i); code(ret) == codeOK {
			return true
		}
	}
	return false
}

// instancesChanged enumerates the instances and tells whether they are others than before.
func (b *board) instancesChanged() bool {
	n := b.instanceLimit()
	changed, troubles := false, false
	found := make([]*instance, 0, n)
	for i := range n {
		if !b.can(fnMIGHandle) {
			break
		}
		inst, fresh := b.instanceAt(i)
		if inst != nil && !slices.Contains(found, inst) {
			found = append(found, inst)
			changed = changed || fresh
		}
		troubles = troubles || b.places[i].next > 0
	}
	if b.fatal != codeOK {
		return false
	}
	if troubles {
		found = b.keepUnread(found)
	} else if b.can(fnMIGHandle) {
		b.ok(fnMIGHandle, codeOK)
	}
	if !changed && len(found) == len(b.migs) {
		return false
	}
	markAlone(found)
	b.dropInstances(found)
	return true
}

// markAlone finds out which instances share their GPU instance with none.
func markAlone(found []*instance) {
	perGI := map[gpu.Opt[int]]int{}
	for _, inst := range found {
		perGI[inst.ident.gi]++
	}
	for _, inst := range found {
		alone := perGI[inst.ident.gi] == 1
		if inst.alone && !alone {
			inst.reset()
			inst.gpm.drop()
		}
		inst.alone = alone
	}
}

// instanceLimit is how many indexes of instances there are; as long as that cannot be read, as many as are known to be used.
func (b *board) instanceLimit() int {
	if !b.static.migs.Known() && b.can(fnMIGMax) {
		if n, ret := b.handle.GetMaxMigDeviceCount(); b.ok(fnMIGMax, code(ret)) {
			b.static.migs = gpu.Some(min(n, mostInstances))
		}
	}
	n, known := b.static.migs.Get()
	for _, inst := range b.migs {
		if !known {
			n = max(n, inst.place+1)
		}
	}
	return n
}

// instanceAt returns the instance of an index: nil where there is none, or where it cannot be had. Each index has troubles of
// its own, so that none hides the instances behind it.
func (b *board) instanceAt(index int) (inst *instance, fresh bool) {
	t := &b.places[index]
	t.begin()
	if t.skip > 0 {
		return nil, false
	}
	asked := fnMIGHandle
	handle, ret := b.handle.GetMigDeviceHandleByIndex(index)
	var uuid string
	if code(ret) == codeOK {
		asked = fnUUID
		uuid, ret = uuidOf(handle)
	}
	c := code(ret)
	switch a := c.answer(); {
	case a == answered:
		*t = trouble{}
		inst, fresh = b.instance(handle, uuid, index)
		inst.place, inst.unread = index, false
		return inst, fresh
	case a == deviceGone || a == driverGone:
		b.fatal = c
	case c == codeNotFound || c == codeInvalidArgument: // there is none, or not any more: the partitioning changed under our eyes
		*t = trouble{}
	case a == never:
		*t = trouble{}
		if asked == fnMIGHandle {
			b.ok(fnMIGHandle, c)
		}
	default:
		t.failed()
		t.skip = t.next // once is often the last time: it is asked at the next read, and only then ever less often
		if a != nothing {
			b.explain(index, asked, c)
		}
	}
	return nil, false
}

// explain notes why an instance cannot be had.
func (b *board) explain(index int, asked function, c code) {
	var refused bool // which would be so for all indexes
	t := &b.state[fnMIGHandle]
	b.take(int(fnMIGHandle), fnMIGHandle.what(), fmt.Sprintf("%s, index %d", asked.symbol(), index), c, t, &refused)
	t.skip = 0
}

// keepUnread adds the instances that are known to those that were found, where these could not be had.
func (b *board) keepUnread(found []*instance) []*instance {
	for _, old := range b.migs {
		if b.places[old.place].next > 0 && !slices.Contains(found, old) {
			old.unread = true
			found = append(found, old)
		}
	}
	slices.SortFunc(found, func(x, y *instance) int { return cmp.Compare(x.place, y.place) })
	return found
}

// instance finds an instance among those known by its UUID, or reads what it is.
func (b *board) instance(handle gonvml.Device, uuid string, index int) (inst *instance, fresh bool) {
	for _, old := range b.migs {
		if old.uuid == uuid {
			old.handle, old.device = handle, pointer(handle)
			return old, false
		}
	}
	parent := b.ident.Load()
	inst = &instance{uuid: uuid}
	inst.handle, inst.device, inst.batch = handle, pointer(handle), b.batch
	inst.has = b.has
	inst.gpm = gpm{calls: &inst.calls, direct: b.gpm.direct, request: b.gpm.request}
	inst.ident = &identity{model: parent.model, parent: parent.id, index: gpu.Some(index), info: parent.info}
	inst.calls.device = uuid
	inst.inquire(instanceInquiries[:])
	inst.identify(parent)
	return inst, true
}
