// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// compose makes the node of what was read and of what is known. It tells whether the driver has to be let go of, because
// a GPU needs a reset.
func (s *source) compose(now time.Time) (letGo bool) {
	n := &s.node
	n.Vendor, n.Time = gpu.NVIDIA, now
	n.Devices, n.Processes, n.Problems = n.Devices[:0], n.Processes[:0], n.Problems[:0]
	n.Events = s.xids.take(n.Events[:0])
	n.RestartNeeded = nil
	n.Containers = n.Containers[:0]
	s.addFailure(n)

	c := census{source: s, node: n}
	boards := s.known()
	s.renumber(boards)
	slices.SortStableFunc(boards, func(a, b *board) int {
		return cmp.Compare(order(a.ident.Load()), order(b.ident.Load()))
	})
	for _, b := range boards {
		if address := b.ident.Load().info.PCIAddress; s.bus.foreign(address) {
			continue
		}
		letGo = c.board(b) || letGo
	}
	letGo = c.strangers() || letGo
	c.presence()
	return letGo
}

// renumber gives GPUs the index that NVML gives them, where that has changed and every GPU that is known was read. As long as
// one is missing, the others keep theirs, so that it stays free for the one.
func (s *source) renumber(boards []*board) {
	read := 0
	for i := range s.results {
		if s.results[i].out != nil {
			read++
		}
	}
	if read < len(s.results) || read < len(boards) {
		return
	}
	for i := range s.results {
		r := &s.results[i]
		b := r.slot.board.Load()
		if ident := b.ident.Load(); order(ident) != r.slot.index {
			renumbered := *ident
			renumbered.index = gpu.Some(r.slot.index)
			b.ident.Store(&renumbered)
			r.out.devices[0].Index = renumbered.index
		}
	}
}

func order(i *identity) int {
	n, _ := i.index.Get()
	return n
}

// addFailure says why NVML cannot be used, where it cannot.
func (s *source) addFailure(n *gpu.Node) {
	if s.lib != nil && s.lib.replaced() {
		n.Problems = append(n.Problems, gpu.Problem{What: "library", Err: fmt.Errorf("nvml: %s was replaced or removed since it was "+
			"loaded; the old one is used as long as the kernel's driver takes it; restart the collector when it does not", s.lib.file)})
	}
	if op := s.pending; op != nil {
		n.Problems = append(n.Problems, gpu.Problem{What: "driver", Err: fmt.Errorf(
			"nvml: %s has not returned since %s; look into the kernel's log (dmesg)", op.what, op.began.Format(time.RFC3339),
		)})
		return
	}
	if s.failure.err == nil {
		return
	}
	n.Problems = append(n.Problems, gpu.Problem{What: s.failure.what, Err: s.failure.err})
	if s.failure.ret == codeVersionMismatch {
		n.RestartNeeded = s.failure.err
	}
}

// errHung is what a GPU suffers from of which a call has not come back.
var errHung = errors.New("a call to the driver has not returned; the GPU is asked again when it has")

// census counts the GPUs while their devices are put into the node.
type census struct {
	*source
	node    *gpu.Node
	visible int
	seen    []string // addresses of GPUs that were put into the node
	lost    int      // GPUs without an address that were not
}

// board puts a known GPU and its instances into the node: as it was read, or as it was last known and why it was not read.
func (c *census) board(b *board) (letGo bool) {
	n := c.node
	ident := b.ident.Load()
	c.seen = append(c.seen, ident.info.PCIAddress)
	r := c.resultOf(b, ident)
	if r != nil && r.out != nil {
		if b.last != codeOK {
			b.last = codeOK
			b.epoch++ // it has been reset, or at least away
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
	d.AddFault(fault, message)
	d.Errors = c.xids.appendErrors(nil, b)
	letGo = wantsReset(d)
	if family := b.family.Load(); family != nil {
		for _, inst := range *family {
			n.Devices = append(n.Devices, gpu.Device{Epoch: b.epoch})
			d := &n.Devices[len(n.Devices)-1]
			inst.describe(d)
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
	switch {
	case r != nil && r.hung, r == nil && c.pending != nil:
		return gpu.FaultHung, errHung.Error()
	case r != nil:
		b.last = r.ret
		b.anew.Store(true)
	case c.session == nil && c.failure.err != nil:
		b.last = c.failure.ret
	case b.last == codeOK:
		b.last = codeGPUNotFound
	}
	if _, there := c.bus.driver(b.ident.Load().info.PCIAddress); !there && c.bus.known && len(c.bus.functions) > 0 {
		return gpu.FaultLost, "it is not on the PCI bus any more"
	}
	return b.last.fault(), b.last.Error()
}

// strangers puts GPUs into the node that were never read: those for which NVML gives no handle, and those that only the
// kernel's driver knows.
func (c *census) strangers() (letGo bool) {
	var failing []*result
	for i := range c.results {
		if r := &c.results[i]; r.slot.board.Load() == nil && !c.claimed(r.slot.index) {
			failing = append(failing, r)
		}
	}
	mismatch := c.session == nil && c.failure.ret == codeVersionMismatch
	if c.session == nil && !mismatch && len(failing) == 0 {
		return false // nothing is known to be wrong with any of them
	}
	var unknown []string
	for _, f := range c.bus.functions {
		if f.driver == "nvidia" && !slices.Contains(c.seen, f.address) {
			unknown = append(unknown, f.address)
		}
	}
	if len(unknown) == 0 {
		c.again.succeeded()
	}
	for i, address := range unknown {
		info, ok := readInformation(c.opts.procRoot, address)
		if (!ok && len(failing) != len(unknown)) || info.excluded {
			continue // hidden from this container, or left out by the administrator
		}
		info.address = address
		ident := info.identify()
		ident.info.DriverVersion = c.driverVersion()
		fault, message := gpu.FaultUnreachable, "the driver has it, but NVML does not show it"
		switch {
		case mismatch:
			fault, message = gpu.FaultDriverMismatch, codeVersionMismatch.Error()
		case len(failing) == len(unknown):
			// NVML numbers GPUs in the order of their addresses.
			r := failing[i]
			ident.index = gpu.Some(r.slot.index)
			fault, message = r.ret.fault(), r.ret.Error()
			if r.hung {
				fault, message = gpu.FaultHung, errHung.Error()
			}
		}
		c.node.Devices = append(c.node.Devices, gpu.Device{})
		d := &c.node.Devices[len(c.node.Devices)-1]
		ident.describe(d)
		d.AddFault(fault, message)
		letGo = letGo || wantsReset(d) || c.anew(fault)
	}
	if len(failing) > len(unknown) {
		c.lost = len(failing) - len(unknown)
		r := failing[0]
		var reason error = r.ret
		if r.hung {
			reason = errHung
		}
		c.node.Problems = append(c.node.Problems, gpu.Problem{What: "handle", Err: fmt.Errorf(
			"nvml: %d GPUs give no handle, and it is not known which they are; the first is that of index %d: %w",
			c.lost, r.slot.index, reason)})
	}
	return letGo
}

// anew tells whether NVML shall be opened anew to see a GPU that it does not show: one that was given back by a virtual
// machine, say. It is tried ever less often.
func (c *census) anew(fault gpu.FaultType) bool {
	if fault != gpu.FaultUnreachable || c.session == nil {
		return false
	}
	now := c.node.Time
	due := c.again.due(now, "")
	if due {
		c.again.failed(now, "")
	}
	return due
}

// claimed tells whether a known board was taken for the one of an index.
func (c *census) claimed(index int) bool {
	for _, b := range c.known() {
		if order(b.ident.Load()) == index {
			return true
		}
	}
	return false
}

func (s *source) driverVersion() string {
	if s.session == nil {
		return ""
	}
	return s.session.driver
}

// presence counts physical GPUs.
func (c *census) presence() {
	if c.session == nil && !c.bus.known && len(c.seen) == 0 {
		c.node.Presence = [gpu.NumPresences]gpu.Opt[int64]{}
		return
	}
	missing := len(c.seen) - c.visible + c.lost
	unmanaged := 0
	for _, f := range c.bus.functions {
		switch {
		case c.bus.foreign(f.address):
			unmanaged++
		case !slices.Contains(c.seen, f.address):
			missing++
		}
	}
	c.node.Presence[gpu.Visible] = gpu.Some(int64(c.visible))
	c.node.Presence[gpu.Missing] = gpu.Some(int64(missing))
	c.node.Presence[gpu.Unmanaged] = known(int64(unmanaged), c.bus.known)
}
