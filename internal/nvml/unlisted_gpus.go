// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// unlistedGPU is a GPU that the kernel's driver has and that is not known by its address.
type unlistedGPU struct {
	information
	described bool // the driver has a file about it
}

// addUnlisted adds GPUs that were never read: those for which NVML gives no handle, and those that only the kernel's driver knows. It reports
// whether the driver has to be closed.
func (m *nodeMaker) addUnlisted() (closeDriver bool) {
	failing := m.withoutGPU()
	mismatch := m.driver.session == nil && m.driver.failure.code == library.VersionMismatch
	if m.driver.session == nil && !mismatch && len(failing) == 0 && !m.asleep {
		return false // nothing is known to be wrong with any of them
	}
	unlisted := m.addSleeping(m.unlisted())
	if len(unlisted) == 0 && !m.unshown {
		*m.reopen = backoff.Backoff{}
	}
	elsewhere := m.withoutAddress() > 0
	silent := len(failing) > 0 && !slices.ContainsFunc(failing, func(o *outcome) bool { return !o.silent() })
	for i := range unlisted {
		info := &unlisted[i]
		if info.excluded || m.find(info.uuid) >= 0 {
			continue // excluded by the administrator, or there twice
		}
		if len(failing) != len(unlisted) && (!info.described || info.uuid == "" && elsewhere) {
			continue // hidden from this container, or perhaps the one whose address is not known
		}
		identity := info.identity()
		identity.Info.DriverVersion = m.driver.version()
		fault, message := gpu.FaultUnreachable, "the kernel driver lists the GPU, but NVML does not show it"
		switch {
		case mismatch:
			fault, message = gpu.FaultDriverMismatch, library.VersionMismatch.Error()
		case len(failing) == len(unlisted): // NVML numbers GPUs in the order of their addresses
			identity.Index = gpu.Some(failing[i].handle.index)
			fault, message = failing[i].fault()
		}
		d := identity.Device()
		d.CurrentIndex = identity.Index
		d.ProcessesUnread = true
		if silent {
			d.Unread = true
			m.node.Devices = append(m.node.Devices, d)
			m.addUnread(failing[0], d.ID, info.address)
			continue
		}
		d.AddFault(fault, message)
		m.node.Devices = append(m.node.Devices, d)
		closeDriver = closeDriver || needsReset(&d) || m.dueToReopen(fault)
	}
	if len(failing) > len(unlisted) {
		m.unplaced = len(failing) - len(unlisted)
		var reason error = failing[0].code
		switch {
		case failing[0].hung:
			reason = errHung
		case failing[0].late:
			reason = errLate
		}
		m.node.Problems = append(m.node.Problems, gpu.Problem{What: "handle", Err: fmt.Errorf(
			"nvml: %d GPUs have no device handle, so they cannot be identified; the first has index %d: %w",
			m.unplaced, failing[0].handle.index, reason)})
	}
	return closeDriver
}

// addSleeping adds the GPUs that are asleep and were never read, as the kernel's driver describes them. It returns the others.
func (m *nodeMaker) addSleeping(unlisted []unlistedGPU) (others []unlistedGPU) {
	for _, g := range unlisted {
		if g.excluded || !g.described || !m.letSleep(g.address) {
			others = append(others, g)
			continue
		}
		inventory.AddAsleep(m.node, "nvml", []gpu.Device{g.identity().Device()})
		m.addresses, m.visible = append(m.addresses, g.address), append(m.visible, true)
	}
	return others
}

// withoutGPU returns the outcomes of handles that found no GPU, except those that are taken for a known GPU's.
func (m *nodeMaker) withoutGPU() (failing []*outcome) {
	known := m.gpus.identified()
	for i := range m.outcomes {
		o := &m.outcomes[i]
		assigned := slices.ContainsFunc(known, func(g *knownGPU) bool { return g.index() == o.handle.index })
		if o.gpu == nil && !assigned {
			failing = append(failing, o)
		}
	}
	return failing
}

// unlisted returns the GPUs that the kernel's driver has and that are not in the node. One that is there without its address is recognised by
// its UUID.
func (m *nodeMaker) unlisted() (all []unlistedGPU) {
	var addresses []string
	functions, _ := m.bus.functions()
	for _, f := range functions {
		if f.Driver == kernelDriver && !slices.Contains(m.addresses, f.Address) {
			addresses = append(addresses, f.Address)
		}
	}
	m.files.query(m.ctx, m.procRoot, addresses)
	for _, address := range addresses {
		info, described := m.files.get(address)
		if m.recognise(info.uuid, address) {
			continue
		}
		info.address = address
		all = append(all, unlistedGPU{info, described})
	}
	return all
}

// recognise reports whether the GPU with a UUID is in the node, and notes its address if that was unknown.
func (m *nodeMaker) recognise(uuid, address string) bool {
	i := m.find(uuid)
	if i < 0 {
		return false
	}
	if i < len(m.addresses) {
		functions, _ := m.bus.functions()
		if _, onBus := functions.Find(m.addresses[i]); !onBus {
			m.addresses[i] = address
		}
	}
	return true
}

// find returns the place of a UUID among the GPUs of the node, which is its place in addresses if it is a known one; -1: it is not there.
func (m *nodeMaker) find(uuid string) int {
	if uuid == "" {
		return -1
	}
	gpus := 0
	for i := range m.node.Devices {
		switch d := &m.node.Devices[i]; {
		case d.Parent != "":
		case d.ID == uuid:
			return gpus
		default:
			gpus++
		}
	}
	return -1
}

// withoutAddress counts the known GPUs in the node whose address is not known.
func (m *nodeMaker) withoutAddress() (n int) {
	for _, address := range m.addresses {
		if address == "" {
			n++
		}
	}
	return n
}
