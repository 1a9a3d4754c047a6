// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/nvml/device"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// reopenPolicy is for opening NVML again to see a GPU that it does not show.
var reopenPolicy = backoff.Policy{First: 30 * time.Second, Max: 5 * time.Minute, Free: 1}

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
	asleep   bool             // no GPU was read, because all are asleep or about to fall asleep

	addresses []string // of the known GPUs in the node
	visible   []bool   // which of them were read, or are listed by NVML and must be reset
	unread    []string // addresses of the GPUs that were not read for a reason that says nothing about them
	silent    bool     // no GPU was read, for such a reason
	unplaced  int      // GPUs that gave no handle and cannot be identified
	unshown   bool     // NVML does not show a GPU that the kernel's driver has
}

// addKnown adds a known GPU and its instances: as they were read, or as they were last known and why they were not read. It reports whether the
// driver has to be closed.
func (m *nodeMaker) addKnown(k *knownDevices) (closeDriver bool) {
	g := k.State
	o := m.outcomeOf(g)
	read := o != nil && o.result != nil
	m.addresses = append(m.addresses, k.Address())
	m.visible = append(m.visible, read || o != nil && o.listed)
	if read {
		m.addResult(g, o)
		return needsRelease(o.result)
	}
	if m.letSleep(k.Address()) {
		m.visible[len(m.visible)-1] = true
		g.CountersRestarted() // without power
		inventory.AddAsleep(m.node, "nvml", k.Devices)
		return false
	}
	start := len(m.node.Devices)
	if m.isSilent(o) && !m.bus.lacks(k.Address()) {
		if o == nil && m.driver.failure.code.Answer() == library.DriverGone {
			g.CountersRestarted()
		}
		k.AddUnreadTo(m.node)
		m.addUnread(o, k.ID(), k.Address())
		return false
	}
	fault, message := m.cause(g, o)
	k.AddTo(m.node, fault, message)
	m.xids.setTotals(g, m.node.Devices[start:])
	d := &m.node.Devices[start]
	if o != nil {
		d.CurrentIndex = gpu.Some(o.handle.index)
	}
	// A GPU that is not on the bus cannot be reset: for its sake, the other GPUs need not go without what only an open driver reports.
	shown := o != nil && o.gpu != nil
	return needsReset(d) && !m.bus.lacks(k.Address()) || !shown && m.dueToReopen(fault)
}

// letSleep reports whether a GPU was not read because it is asleep or about to fall asleep.
func (m *nodeMaker) letSleep(address string) bool {
	return m.bus.asleep(address) || m.asleep && !m.bus.lacks(address)
}

// needsRelease reports whether the driver has to be closed for a GPU that was read: it needs a reset, or it was to be drained before its reset and
// no process uses it any more.
func needsRelease(r *device.Result) bool {
	if action, _ := r.Devices[0].RecoveryAction.Get(); action != gpu.RecoveryDrainAndReset {
		return needsReset(&r.Devices[0])
	}
	return len(r.Processes) == 0 && !slices.ContainsFunc(r.Devices, func(d gpu.Device) bool { return d.ProcessesUnread })
}

func (m *nodeMaker) addResult(g *knownGPU, o *outcome) {
	g.last = library.OK
	result := o.result
	for i := range result.Devices {
		result.Devices[i].Epoch = g.epoch
	}
	d := &result.Devices[0]
	d.CurrentIndex = gpu.Some(o.handle.index)
	m.xids.setTotals(g, result.Devices)
	m.node.Devices = append(m.node.Devices, result.Devices...)
	m.node.Processes = append(m.node.Processes, result.Processes...)
	m.node.Problems = append(m.node.Problems, result.Problems...)
}

// outcomeOf returns the outcome of a GPU in this read; nil if NVML does not show it. A handle that found no GPU counts as the handle of the
// GPU with its index that no other handle has.
func (m *nodeMaker) outcomeOf(g *knownGPU) *outcome {
	var byIndex *outcome
	for i := range m.outcomes {
		o := &m.outcomes[i]
		switch {
		case o.gpu == g:
			return o
		case o.gpu == nil && g.index() == o.handle.index:
			byIndex = o
		}
	}
	return byIndex
}

// addUnread notes a GPU that was not read for a reason that says nothing about it. o is nil if the driver failed as a whole.
func (m *nodeMaker) addUnread(o *outcome, id, address string) {
	m.unread = append(m.unread, address)
	if o == nil {
		return
	}
	err := errLate
	if !o.late {
		err = fmt.Errorf("nvml: read the GPU: %w", o.code)
	}
	m.node.Problems = append(m.node.Problems, gpu.Problem{Device: cmp.Or(id, address), What: "GPU", Err: err})
}

// isSilent reports whether a known GPU was not read for a reason that says nothing about it.
func (m *nodeMaker) isSilent(o *outcome) bool {
	if o != nil {
		return o.silent()
	}
	return m.silent && m.driver.session == nil
}

// cause returns the fault and the reason why a known GPU was not read.
func (m *nodeMaker) cause(g *knownGPU, o *outcome) (gpu.FaultType, string) {
	if o != nil && o.hung || o == nil && m.driver.pending != nil && !m.silent {
		return gpu.FaultHung, errHung.Error()
	}
	g.CountersRestarted() // it has been away, perhaps to be reset
	switch {
	case m.isSilent(o): // but the bus is not
		return gpu.FaultLost, "not on the PCI bus any more"
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

// dueToReopen reports whether to open NVML again to see a GPU that it does not show: one that a virtual machine gave back, say. That is tried
// ever less often.
func (m *nodeMaker) dueToReopen(fault gpu.FaultType) bool {
	if fault != gpu.FaultUnreachable || m.driver.session == nil {
		return false
	}
	m.unshown = true
	due := m.reopen.Due(m.node.Time)
	if due {
		m.reopen.Failed(m.node.Time, reopenPolicy)
	}
	return due
}
