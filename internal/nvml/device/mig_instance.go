// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// instance is one MIG instance of a GPU.
type instance struct {
	device
	identity       *Identity
	identification identification

	uuid   string
	index  int  // under which the GPU hands it out
	unread bool // it could not be had in the present read
	alone  bool // the only compute instance of its GPU instance, so that what is measured of the one is the other's

	gpm       gpm
	processes processes
}

// newInstance identifies an instance, and asks what it is.
func newInstance(owner *device, parent *Identity, handle library.Device, uuid string, index int) *instance {
	i := &instance{device: newDevice(owner.lib, owner.cfg, uuid), uuid: uuid, index: index}
	i.handle = handle
	i.identity = &Identity{Index: gpu.Some(index)}
	i.identity.inherit(parent)
	i.identification.queries = instanceQueries[:]
	i.identification.restart()
	i.identify(parent)
	return i
}

// identify asks what is not known yet, and reports whether something new is.
func (i *instance) identify(parent *Identity) bool {
	identity := *i.identity
	changed := i.identification.run(&i.device, &identity)
	i.setIdentity(identity, parent)
	return changed
}

// inherit sets what an instance has of its GPU.
func (i *instance) inherit(parent *Identity) {
	identity := *i.identity
	identity.inherit(parent)
	i.setIdentity(identity, parent)
}

func (i *instance) setIdentity(identity Identity, parent *Identity) {
	identity.place(i.uuid, parent)
	i.identity = &identity
	i.Calls.Device = identity.ID
}

// share notes whether the instance is alone on its GPU instance.
func (i *instance) share(alone bool) {
	if i.alone && !alone {
		i.Reset()
		i.gpm.drop()
	}
	i.alone = alone
}

// read reads what the driver reports of an instance: its memory and the errors in it, its processes and, on Hopper and later, its pipes.
func (i *instance) read() (d gpu.Device, processes []gpu.Process) {
	d = i.identity.Device()
	d.ProcessesUnread = true
	if i.unread {
		d.Unread = true
		return d, nil
	}
	d.CurrentIndex = gpu.Some(i.index)
	if i.cfg.Want.Has(gpu.GroupMemory) {
		readMemory(&i.device, &d)
	}
	if i.cfg.Want.Has(gpu.GroupBAR1) {
		readBAR1(&i.device, &d)
	}
	if i.cfg.Want.Has(gpu.GroupECC | gpu.GroupECCMemory) {
		readInstanceECC(&i.device, &d)
	}
	if i.cfg.Want.Has(gpu.GroupPipes) && i.alone {
		i.gpm.read(&i.device, false)
		i.gpm.readPipes(&d)
	}
	if i.cfg.Want.Has(gpu.GroupProcesses | gpu.GroupProcessUtilization) {
		d.ProcessesUnread = !i.processes.read(&i.device)
		processes = i.processes.list(d.ID)
	}
	switch code := i.Unreachable(); code.Answer() {
	case library.Failed:
		d.AddFault(gpu.FaultUnreachable, code.Error())
	case library.Denied:
		d.Unread = true
	default:
	}
	return d, processes
}
