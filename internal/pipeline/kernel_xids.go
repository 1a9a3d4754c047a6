// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
)

const (
	// holdPeriod is how long an XID of the source waits for its line in the kernel's log, which may be read once a second only.
	holdPeriod = 2 * time.Second
	// sentPeriod is how long an XID of the log waits for its copy of the source. A source that cannot be queried between reads has it at
	// the next one.
	sentPeriod = 2 * time.Minute
	// maxPaired bounds the XIDs that wait for their other half. Those above it pass.
	maxPaired = 1024
)

// kernelXIDs merges the events of an XID that both the source and the kernel's log report into one. They are matched one by one, by GPU and
// code. The event of the log passes immediately: it has the time, the process and the driver's words. The event of the source is held for a
// moment, and passes if the log does not have it. A nil kernelXIDs lets everything pass.
type kernelXIDs struct {
	vendor     gpu.Vendor
	late       func([]gpu.Event)      // called with what waited for another line in vain
	executable func(pid int64) string // see Options.Executable

	mu         sync.Mutex
	gpus       kernelGPUs
	names      lastNames
	sourceXIDs heldEvents
	logXIDs    heldEvents  // passed already
	timer      *time.Timer // ends the wait of the oldest that is held
	ended      bool

	faults kernelFaults // what the log has in addition to XIDs
}

// newKernelXIDs returns kernelXIDs for the GPUs of a vendor. sys is the mount point of sysfs.
func newKernelXIDs(vendor gpu.Vendor, sys string, late func([]gpu.Event)) *kernelXIDs {
	return &kernelXIDs{vendor: vendor, late: late, gpus: newKernelGPUs(sys), faults: newKernelFaults()}
}

// set records the addresses of the GPUs of a node.
func (k *kernelXIDs) set(node *gpu.Node) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gpus.set(node)
	k.names.set(node)
}

// fromSource filters the events of the source, and returns the events to send now.
func (k *kernelXIDs) fromSource(events []gpu.Event) []gpu.Event {
	if k == nil {
		return events
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	k.logXIDs.due(now)
	var pass []gpu.Event
	for _, e := range events {
		if e.Type != gpu.EventXID {
			pass = append(pass, e)
			continue
		}
		k.faults.noteXID(&e, now)
		switch matched := k.match(&e); {
		case matched:
		case len(k.sourceXIDs) == maxPaired || k.ended:
			pass = append(pass, e)
		default:
			k.sourceXIDs = append(k.sourceXIDs, heldEvent{e, now.Add(holdPeriod)})
			k.startTimer(now)
		}
	}
	return pass
}

// open returns what is held, which goes on waiting.
func (k *kernelXIDs) open() []gpu.Event {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	events := append(k.sourceXIDs.events(), k.faults.pending.events()...)
	for i := range events {
		events[i].UID = uuid.Must(uuid.NewV7()).String()
	}
	return events
}

// fromLog filters the messages of the log, and returns the events to send now.
func (k *kernelXIDs) fromLog(host *gpu.Host, messages []kernellog.Event) []gpu.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	k.logXIDs.due(now)
	var pass []gpu.Event
	for i := range messages {
		if reporter := messages[i].Kind.Vendor(); reporter != "" && reporter != k.vendor {
			continue
		}
		switch message := &messages[i]; message.Kind {
		case kernellog.KindGPU:
			remember(k.gpus.uuids, message.Address, message.UUID)
		case kernellog.KindXID:
			e := k.event(host, message)
			k.faults.noteXID(&e, now)
			if i := find(k.sourceXIDs, &e); i >= 0 {
				copied := &k.sourceXIDs[i].event
				e.DeviceID, e.Parent, e.Name, e.Model = copied.DeviceID, copied.Parent, copied.Name, copied.Model
				if !takeOne(copied) {
					k.sourceXIDs = append(k.sourceXIDs[:i], k.sourceXIDs[i+1:]...)
				}
			} else if len(k.logXIDs) < maxPaired {
				k.logXIDs = append(k.logXIDs, heldEvent{e, now.Add(sentPeriod)})
			}
			pass = append(pass, e)
		case kernellog.KindPCIeError:
			if address, ok := k.gpus.ports.gpu(message.Address); ok {
				e := k.event(host, &kernellog.Event{Kind: message.Kind, Time: message.Time, Address: address, Text: message.Text})
				pass = append(pass, k.faults.fromLog(message, e, now)...)
			}
		default:
			pass = append(pass, k.faults.fromLog(message, k.event(host, message), now)...)
		}
	}
	if !k.ended {
		k.startTimer(now)
	}
	return pass
}

// event returns the event of a line: the device, the time and what the driver says. It is of type EventXID.
func (k *kernelXIDs) event(host *gpu.Host, message *kernellog.Event) gpu.Event {
	d := k.gpus.device(host, message)
	e := gpu.Event{
		Type: gpu.EventXID, Time: message.Time, XID: message.XID, Detail: message.Text,
		DeviceID: d.ID, Parent: d.Parent, Name: d.Name, Model: d.Model, Vendor: cmp.Or(d.Vendor, message.Kind.Vendor()),
	}
	if pid, ok := message.PID.Get(); ok {
		var executable string
		if k.executable != nil {
			executable = k.executable(pid)
		}
		e.Process = &gpu.Process{PID: pid, Executable: k.names.get(pid, executable, message.Process)}
	}
	return e
}

// startTimer has what is held pass when its wait is over.
func (k *kernelXIDs) startTimer(now time.Time) {
	next := k.sourceXIDs.nextEnd()
	if end := k.faults.pending.nextEnd(); next.IsZero() || !end.IsZero() && end.Before(next) {
		next = end
	}
	if k.timer == nil && !next.IsZero() {
		k.timer = time.AfterFunc(next.Sub(now), k.pass)
	}
}

func (k *kernelXIDs) pass() {
	k.mu.Lock()
	now := time.Now()
	events := append(k.sourceXIDs.due(now), k.faults.pending.due(now)...)
	k.timer = nil
	if !k.ended {
		k.startTimer(now)
	}
	if len(events) > 0 {
		k.late(events) // under the lock: end must not come between
	}
	k.mu.Unlock()
}

// end returns what is held. Nothing is held from then on.
func (k *kernelXIDs) end() []gpu.Event {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	events := append(k.sourceXIDs.events(), k.faults.pending.events()...)
	k.sourceXIDs, k.faults.pending = nil, nil
	return events
}
