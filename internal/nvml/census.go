// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// errHung is what a GPU suffers from of which a call has not come back.
var errHung = errors.New("a call to the driver has not returned; the GPU is asked again when it has")

// errLookHung is what the driver as a whole suffers from.
var errLookHung = errors.New("nvml: counting the GPUs, or asking for what has happened to them, has not returned; XIDs and GPUs that are " +
	"new are not seen until it does; look into the kernel's log (dmesg)")

// census counts the GPUs while their devices are put into the node.
type census struct {
	*source
	caller  context.Context
	node    *gpu.Node
	visible int
	seen    []string // addresses of GPUs that were put into the node
	lost    int      // GPUs without an address that were not
	unshown bool     // NVML does not show a GPU that the kernel's driver has
}

// board puts a known GPU and its instances into the node: as it was read, or as it was last known and why it was not read.
func (c *census) board(b *board) (letGo bool) {
	n := c.node
	ident := b.ident.Load()
	c.seen = append(c.seen, ident.info.PCIAddress)
	r := c.resultOf(b, ident)
	if r != nil && r.out != nil {
		b.last = codeOK
		if b.renewed {
			b.renewed = false
			c.epochs++
			b.epoch = c.epochs
		}
		b.shown = 1 - b.shown
		c.visible++
		for i := range r.out.devices {
			n.Devices = append(n.Devices, r.out.devices[i])
			d := &n.Devices[len(n.Devices)-1]
			d.Epoch = b.epoch
			if i == 0 {
				d.Errors = c.xids.appendErrors(d.Errors, b)
				letGo = wantsReset(d)
			}
		}
		n.Processes = append(n.Processes, r.out.processes...)
		n.Problems = append(n.Problems, r.out.problems...)
		return letGo
	}

	fault, message := c.why(b, r)
	at := len(n.Devices)
	n.Devices = append(n.Devices, gpu.Device{Epoch: b.epoch})
	d := &n.Devices[at]
	ident.describe(d)
	d.ProcessesUnread = true
	d.AddFault(fault, message)
	d.Errors = c.xids.appendErrors(nil, b)
	// What is not there any more nobody can reset, and for it the others are not to do without what an open driver tells.
	shown := r != nil && r.slot.board.Load() != nil
	letGo = wantsReset(d) && !c.offBus(ident) || !shown && c.anew(fault)
	if family := b.family.Load(); family != nil {
		for _, inst := range *family {
			n.Devices = append(n.Devices, gpu.Device{Epoch: b.epoch})
			d := &n.Devices[len(n.Devices)-1]
			inst.describe(d)
			d.ProcessesUnread = true
			d.AddFault(fault, message)
		}
	}
	return letGo
}

// resultOf finds what this read made of a board. A slot that got no handle has no board; it is taken for the one of its
// index that nothing else was found for.
func (c *census) resultOf(b *board, ident *identity) *result {
	var byIndex *result
	for i := range c.results {
		r := &c.results[i]
		switch have := r.slot.board.Load(); {
		case have == b:
			return r
		case have == nil && order(ident) == r.slot.index:
			byIndex = r
		}
	}
	return byIndex
}

// why says why a known board was not read.
func (c *census) why(b *board, r *result) (gpu.FaultType, string) {
	if r != nil && r.hung || r == nil && c.pending != nil {
		return gpu.FaultHung, errHung.Error()
	}
	b.anew.Store(true) // it has been away, perhaps to be reset
	switch {
	case r != nil:
		b.last = r.ret
	case c.session == nil && c.failure.err != nil:
		b.last = c.failure.ret
	default: // NVML does not show it any more
		if b.last == codeOK {
			b.last = codeGPUNotFound
		}
		if c.offBus(b.ident.Load()) {
			return gpu.FaultLost, "it is not on the PCI bus any more"
		}
	}
	return b.last.fault(), b.last.Error()
}

// offBus tells whether a GPU is not on the PCI bus any more.
func (c *census) offBus(i *identity) bool {
	_, there := c.bus.driver(i.info.PCIAddress)
	return !there && c.bus.known && i.info.PCIAddress != ""
}

// presence counts physical GPUs.
func (c *census) presence() {
	if c.session == nil && !c.bus.known && len(c.seen) == 0 {
		c.node.Presence = [gpu.NumPresences]gpu.Opt[int64]{}
		return
	}
	missing := len(c.seen) - c.visible + c.lost
	unmanaged, nameless := 0, c.nameless()
	for _, f := range c.bus.functions {
		switch {
		case c.bus.foreign(f.address):
			unmanaged++
		case slices.Contains(c.seen, f.address):
		case nameless > 0 && f.driver == "nvidia":
			nameless-- // it is one of those, which were counted
		default:
			missing++
		}
	}
	c.node.Presence[gpu.Visible] = gpu.Some(int64(c.visible))
	c.node.Presence[gpu.Missing] = gpu.Some(int64(missing))
	c.node.Presence[gpu.Unmanaged] = known(int64(unmanaged), c.bus.known)
}
