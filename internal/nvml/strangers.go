// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

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
	unknown := c.unknown()
	if len(unknown) == 0 && !c.unshown {
		c.again.succeeded()
	}
	elsewhere := c.nameless() > 0
	for i, info := range unknown {
		if info.excluded || c.find(info.uuid) >= 0 {
			continue // left out by the administrator, or there twice
		}
		if len(failing) != len(unknown) && (!info.told || info.uuid == "" && elsewhere) {
			continue // hidden from this container, or perhaps the one of which the address is not known
		}
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
		d.ProcessesUnread = true
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
	c.unshown = true
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
