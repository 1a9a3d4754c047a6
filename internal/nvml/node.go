// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/nvml/device"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// outcome is what became of a handle in a read.
type outcome struct {
	handle *handle
	result *device.Result
	code   library.Code // why there is no result
	hung   bool         // because a call has not returned
}

// fault is the fault of a GPU that was not read, and why.
func (o *outcome) fault() (gpu.FaultType, string) {
	if o.hung {
		return gpu.FaultHung, errHung.Error()
	}
	return faultOf(o.code), o.code.Error()
}

// knownDevices is a known GPU in the inventory.
type knownDevices = inventory.Known[*knownGPU]

// nodeMaker makes the node of a read.
type nodeMaker struct {
	ctx      context.Context // of the caller of the read
	node     *gpu.Node
	outcomes []outcome

	driver   *driver
	gpus     *knownGPUs
	xids     *xids
	bus      *bus
	files    *driverFiles
	procRoot string
	reopen   *backoff.Backoff // of sessions, because NVML does not show GPUs that the driver has

	addresses []string // of the known GPUs in the node
	read      []bool   // which of them were read
	unplaced  int      // GPUs that gave no handle and of which it is not known which they are
	unshown   bool     // NVML does not show a GPU that the kernel's driver has
}

// make fills the node in, and reports whether the driver has to be closed, because a GPU needs a reset or to be looked for again.
func (m *nodeMaker) make(now time.Time) (closeDriver bool) {
	n := m.node
	n.Events = m.xids.take()
	m.driver.report(n, now)
	n.Unread = m.unread()

	for i := range m.outcomes {
		if o := &m.outcomes[i]; o.result != nil {
			m.gpus.newEpoch(o.handle.gpu.Load())
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
			k.State.CountersRestarted() // whoever has it resets it
			continue
		}
		closeDriver = m.addKnown(k) || closeDriver
	}
	closeDriver = m.addUnlisted() || closeDriver
	m.countPresence()
	return closeDriver
}

// unread reports whether calls have not returned, and none has brought a result.
func (m *nodeMaker) unread() bool {
	hung := m.driver.pending != nil
	for i := range m.outcomes {
		if m.outcomes[i].result != nil {
			return false
		}
		hung = hung || m.outcomes[i].hung
	}
	return hung
}

// addKnown adds a known GPU and its instances: as they were read, or as they were last known and why they were not read. It reports whether the
// driver has to be closed.
func (m *nodeMaker) addKnown(k *knownDevices) (closeDriver bool) {
	g := k.State
	o := m.outcomeOf(g)
	read := o != nil && o.result != nil
	m.addresses = append(m.addresses, k.Address())
	m.read = append(m.read, read)
	if read {
		m.addResult(g, o.result)
		return needsReset(&o.result.Devices[0])
	}
	at := len(m.node.Devices)
	fault, message := m.why(g, o)
	k.AddTo(m.node, fault, message)
	d := &m.node.Devices[at]
	d.Errors = m.xids.appendErrors(nil, g)
	// Nobody can reset what is not on the bus any more: for it the others need not do without what only an open driver reports.
	shown := o != nil && o.handle.gpu.Load() != nil
	return needsReset(d) && !m.bus.lacks(k.Address()) || !shown && m.dueToReopen(fault)
}

func (m *nodeMaker) addResult(g *knownGPU, result *device.Result) {
	g.last = library.OK
	for i := range result.Devices {
		result.Devices[i].Epoch = g.epoch
	}
	d := &result.Devices[0]
	d.Errors = m.xids.appendErrors(d.Errors, g)
	m.node.Devices = append(m.node.Devices, result.Devices...)
	m.node.Processes = append(m.node.Processes, result.Processes...)
	m.node.Problems = append(m.node.Problems, result.Problems...)
}

// outcomeOf returns what became of a GPU in this read; nil: NVML does not show it. A handle that found no GPU is taken for that of the GPU
// with its index that no other handle has.
func (m *nodeMaker) outcomeOf(g *knownGPU) *outcome {
	var byIndex *outcome
	for i := range m.outcomes {
		o := &m.outcomes[i]
		switch have := o.handle.gpu.Load(); {
		case have == g:
			return o
		case have == nil && g.index() == o.handle.index:
			byIndex = o
		}
	}
	return byIndex
}

// why returns why a known GPU was not read.
func (m *nodeMaker) why(g *knownGPU, o *outcome) (gpu.FaultType, string) {
	if o != nil && o.hung || o == nil && m.driver.pending != nil {
		return gpu.FaultHung, errHung.Error()
	}
	g.CountersRestarted() // it has been away, perhaps to be reset
	switch {
	case o != nil:
		g.last = o.code
	case m.driver.session == nil && m.driver.failure.err != nil:
		g.last = m.driver.failure.code
	default: // NVML does not show it any more
		if g.last == library.OK {
			g.last = library.GPUNotFound
		}
		if m.bus.lacks(g.address()) {
			return gpu.FaultLost, "not on the PCI bus any more"
		}
	}
	return faultOf(g.last), g.last.Error()
}

// countPresence counts the physical GPUs.
func (m *nodeMaker) countPresence() {
	functions, listed := m.bus.functions()
	if m.driver.session == nil && !listed && len(m.addresses) == 0 {
		return
	}
	var visible, absent []string
	for i, address := range m.addresses {
		if m.read[i] {
			visible = append(visible, address)
		} else {
			absent = append(absent, address)
		}
	}
	m.node.Presence = inventory.Count(visible, absent, functions, kernelDriver)
	missing, _ := m.node.Presence[gpu.Missing].Get()
	m.node.Presence[gpu.Missing] = gpu.Some(missing + int64(m.unplaced))
}
