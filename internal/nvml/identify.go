// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// inquiry is something that the driver is asked to know what a device is, besides its UUID. What the function fills in is
// only taken where it succeeded.
type inquiry struct {
	fn  function
	ask func(handle gonvml.Device, into *identity) gonvml.Return
}

var boardInquiries = [...]inquiry{
	{fnName, func(handle gonvml.Device, into *identity) (ret gonvml.Return) {
		into.model, ret = handle.GetName()
		into.model = text(into.model)
		return ret
	}},
	{fnMinor, func(handle gonvml.Device, into *identity) gonvml.Return {
		minor, ret := handle.GetMinorNumber()
		into.name = deviceName(minor)
		return ret
	}},
	{fnSerial, func(handle gonvml.Device, into *identity) (ret gonvml.Return) {
		into.info.Serial, ret = handle.GetSerial()
		into.info.Serial = text(into.info.Serial)
		return ret
	}},
	{fnVBIOS, func(handle gonvml.Device, into *identity) (ret gonvml.Return) {
		into.info.FirmwareVersion, ret = handle.GetVbiosVersion()
		into.info.FirmwareVersion = text(into.info.FirmwareVersion)
		return ret
	}},
	{fnPCIInfo, func(handle gonvml.Device, into *identity) gonvml.Return {
		pci, ret := handle.GetPciInfo()
		into.info.PCIAddress = address(uint64(pci.Domain), uint64(pci.Bus), uint64(pci.Device), 0)
		return ret
	}},
	{fnComputeCapability, func(handle gonvml.Device, into *identity) gonvml.Return {
		major, minor, ret := handle.GetCudaComputeCapability()
		into.info.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
		return ret
	}},
	{fnDriverVersion, func(_ gonvml.Device, into *identity) (ret gonvml.Return) {
		into.info.DriverVersion, ret = driverVersion()
		return ret
	}},
}

var instanceInquiries = [...]inquiry{
	{fnGPUInstance, func(handle gonvml.Device, into *identity) gonvml.Return {
		gi, ret := handle.GetGpuInstanceId()
		into.gi = gpu.Some(gi)
		return ret
	}},
	{fnComputeInstance, func(handle gonvml.Device, into *identity) gonvml.Return {
		ci, ret := handle.GetComputeInstanceId()
		into.ci = gpu.Some(ci)
		return ret
	}},
	{fnName, func(handle gonvml.Device, into *identity) gonvml.Return {
		name, ret := handle.GetName()
		into.info.Profile = profile(text(name))
		return ret
	}},
}

func driverVersion() (string, gonvml.Return) {
	version, ret := gonvml.SystemGetDriverVersion()
	return text(version), ret
}

// uuidOf asks for a device's UUID.
func uuidOf(handle gonvml.Device) (string, gonvml.Return) {
	uuid, ret := handle.GetUUID()
	return text(uuid), ret
}

// inquire has what a device is asked anew, from the next learn on.
func (c *caller) inquire(all []inquiry) {
	c.unidentified = [numFunctions]bool{}
	for i := range all {
		c.unidentified[all[i].fn] = true
	}
}

// identified tells whether all is known that can be known of what a device is.
func (c *caller) identified() bool { return c.unidentified == [numFunctions]bool{} }

// learn asks for what is not known yet, and tells whether there was anything new. What the driver refuses is not asked
// again; what failed, or is not there yet, is, ever less often.
func (c *caller) learn(all []inquiry, handle gonvml.Device, ident *identity) (more bool) {
	for i := range all {
		f := all[i].fn
		if !c.unidentified[f] {
			continue
		}
		if c.can(f) {
			with := *ident
			ret := code(all[i].ask(handle, &with))
			if c.ok(f, ret) {
				*ident, more = with, true
				c.unidentified[f] = false
			} else if ret.answer() == nothing {
				c.state[f].failed()
			}
		}
		if !c.supported(f) {
			c.unidentified[f] = false
		}
	}
	return more
}

// identify reads what the GPU is. It keeps the index under which it was first seen. The driver's version is not asked where
// it is known.
func (b *board) identify(handle gonvml.Device, index int, driver string) code {
	ident := identity{id: b.uuid, index: gpu.Some(index)}
	if before := b.ident.Load(); before != nil {
		ident = *before // what cannot be told at once is as it was
	}
	ident.info.DriverVersion = driver
	b.calls.device = b.uuid
	b.begin()
	b.inquire(boardInquiries[:])
	b.unidentified[fnDriverVersion] = driver == ""
	b.know(handle, &ident)
	if b.fatal == codeOK {
		b.become(&ident)
		b.fields = newFieldSet(&b.calls, b.src.want, ident.info.DriverVersion)
	}
	return b.fatal
}

// identifyFurther asks again for what could not be told of what the GPU is.
func (b *board) identifyFurther() {
	if b.identified() {
		return
	}
	ident := *b.ident.Load()
	if !b.know(b.handle, &ident) {
		return
	}
	b.become(&ident)
}

// become notes what the GPU is. Its instances get what they have of it.
func (b *board) become(ident *identity) {
	b.ident.Store(ident)
	for _, inst := range b.migs {
		inst.inherit(ident)
	}
	b.dropInstances(b.migs) // none: they are described anew
}

func (b *board) know(handle gonvml.Device, ident *identity) bool {
	more := b.learn(boardInquiries[:], handle, ident)
	if ident.info.PCIAddress != "" && !ident.info.NUMANode.Known() {
		ident.info.NUMANode = numaNode(b.src.bus.numaNode(ident.info.PCIAddress))
	}
	return more
}

// identifyInstance asks again for what could not be told of what an instance is.
func (b *board) identifyInstance(inst *instance) {
	if inst.identified() {
		return
	}
	if inst.identify(b.ident.Load()) {
		markAlone(b.migs)
		b.dropInstances(b.migs) // none: they are described anew
	}
}

func (i *instance) identify(parent *identity) bool {
	ident := *i.ident
	more := i.learn(instanceInquiries[:], i.handle, &ident)
	ident.place(i.uuid, parent)
	i.ident = &ident
	i.calls.device = ident.id
	return more
}

// inherit gives an instance what it has of its GPU.
func (i *instance) inherit(parent *identity) {
	ident := *i.ident
	own := ident.info.Profile
	ident.model, ident.info = parent.model, parent.info
	ident.info.Profile = own
	ident.place(i.uuid, parent)
	i.ident = &ident
}
