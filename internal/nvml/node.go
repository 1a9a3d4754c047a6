// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

// make fills the node in, and reports whether the driver has to be closed, because a GPU needs a reset or to be looked for again.
func (m *nodeMaker) make(now time.Time) (closeDriver bool) {
	n := m.node
	n.Events, n.EventsDropped = m.xids.take(), m.xids.takeDropped()
	unusable := m.unusable()
	m.driver.report(n, now, unusable)
	n.Failure, m.silent = m.failure(unusable)

	for i := range m.outcomes {
		switch o := &m.outcomes[i]; {
		case o.result != nil:
			m.gpus.newEpoch(o.gpu)
		case o.gpu != nil && m.gpus.cfg.Peers != nil:
			m.gpus.cfg.Peers.Drop(o.gpu.UUID())
		}
	}
	for _, g := range m.gpus.record(now, m.outcomes) {
		m.xids.forget(g)
	}
	m.gpus.renumber(m.outcomes)
	known := m.gpus.inventory.All()
	slices.SortStableFunc(known, func(a, b *knownDevices) int { return cmp.Compare(a.State.index(), b.State.index()) })
	for _, k := range known {
		if m.bus.foreign(k.Address()) {
			k.State.CountersRestarted() // the user of the GPU resets it
			continue
		}
		closeDriver = m.addKnown(k) || closeDriver
	}
	closeDriver = m.addUnlisted() || closeDriver
	m.countPresence()
	n.OtherDriver = m.bus.otherDriver()
	return closeDriver
}

// unusable returns why NVML cannot be used at present; nil if it can. If the library or the driver is missing, the error names a GPU of the
// PCI bus that they are missing for.
func (m *nodeMaker) unusable() *failure {
	f := m.driver.unusable()
	if f == nil || f.reason != gpu.FailureLibrary && f.reason != gpu.FailureDriver {
		return f
	}
	located := *f
	functions, _ := m.bus.functions()
	located.err = functions.Locate(gpu.NVIDIA, f.err)
	return &located
}

// failure returns why no GPU was read, and whether that says nothing about the GPUs; nil if one was read, and if the driver answered for
// one that it has failed.
func (m *nodeMaker) failure(unusable *failure) (_ *gpu.Failure, silent bool) {
	var hung, late bool
	code := library.OK
	for i := range m.outcomes {
		switch o := &m.outcomes[i]; {
		case o.result != nil:
			return nil, false
		case o.hung:
			hung = true
		case o.late:
			late = true
		case code == library.OK || code.Answer() == library.Denied:
			code = o.code
		}
	}
	f := unusable
	switch {
	case f != nil:
	case hung:
		f = &failure{reason: gpu.FailureTimeout, err: errHung}
	case late:
		f = &failure{reason: gpu.FailureTimeout, err: errLate, silent: true}
	case m.driver.late:
		f = &failure{reason: gpu.FailureTimeout, err: errNotOpened, silent: true}
	case code.Answer() == library.Denied, code.Answer() == library.DriverGone:
		answer := failureOf(code, fmt.Errorf("nvml: read the GPUs: %w", code))
		f = &answer
	default:
		return nil, false
	}
	return &gpu.Failure{Reason: f.reason, Err: f.err}, f.silent
}

// countPresence counts the physical GPUs.
func (m *nodeMaker) countPresence() {
	functions, listed := m.bus.functions()
	if m.driver.session == nil && !listed && len(m.addresses) == 0 {
		return
	}
	// A GPU about which nothing is known is not missing.
	functions = slices.DeleteFunc(slices.Clone(functions), func(f pci.Function) bool { return slices.Contains(m.unread, f.Address) })
	var visible, absent []string
	for i, address := range m.addresses {
		switch {
		case m.visible[i]:
			visible = append(visible, address)
		case !slices.Contains(m.unread, address):
			absent = append(absent, address)
		}
	}
	m.node.Presence = inventory.Count(visible, absent, functions, kernelDriver)
	missing, _ := m.node.Presence[gpu.Missing].Get()
	m.node.Presence[gpu.Missing] = gpu.Some(missing + int64(m.unplaced))
	if m.silent {
		m.node.Presence[gpu.Visible] = gpu.Opt[int64]{}
	}
}
