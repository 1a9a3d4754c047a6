// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/usage"
)

// Known is what a Pipeline knows after a read, with which a later process goes on. Its JSON is stored. Its numbers are the numbers of
// package gpu: if they change, the version of internal/checkpoint changes.
type Known struct {
	States  map[string]KnownState `json:"states,omitzero"` // by hw.id; nil before the first read
	Ended   map[string]KnownState `json:"ended,omitempty"` // as of stateChanges
	Failure *KnownFailure         `json:"failure,omitempty"`
	Usage   usage.State           `json:"usage,omitzero"`
	// Throttled are the devices that are throttled, by hw.id.
	Throttled map[string]Throttling `json:"throttled,omitempty"`
}

// KnownState is the state of a device: since when, if that is known, and when it was read last.
type KnownState struct {
	State gpu.State `json:"state"`
	Since time.Time `json:"since,omitzero"`
	Seen  time.Time `json:"seen"`
}

// KnownFailure is why the source could not be read.
type KnownFailure struct {
	Reason gpu.FailureReason `json:"reason"`
	Text   string            `json:"text"`
}

// checkpointState is what Checkpoint returns. It changes together with the events that wait.
type checkpointState struct {
	mu    sync.Mutex
	known *Known // nil before the first read
}

// keep queues the events of a read, and keeps what is known after it.
func (p *Pipeline) keep(queue func()) {
	if !p.options.Keep {
		queue()
		return
	}
	known := p.known()
	p.checkpoint.mu.Lock()
	defer p.checkpoint.mu.Unlock()
	queue()
	p.checkpoint.known = known
}

func (p *Pipeline) known() *Known {
	k := &Known{States: knownStates(p.states.last), Ended: knownStates(p.states.ended), Usage: p.usage.State(), Throttled: p.throttle.known()}
	if f := p.sources.last; f != nil {
		k.Failure = &KnownFailure{Reason: f.Reason, Text: f.Error()}
	}
	return k
}

func knownStates(states map[string]lastState) map[string]KnownState {
	if states == nil {
		return nil
	}
	known := make(map[string]KnownState, len(states))
	for id, s := range states {
		known[id] = KnownState{State: s.State, Since: s.since, Seen: s.lastRead}
	}
	return known
}

func restoredStates(known map[string]KnownState) map[string]lastState {
	if known == nil {
		return nil
	}
	states := make(map[string]lastState, len(known))
	for id, s := range known {
		if s.State < gpu.NumStates {
			states[id] = lastState{State: s.State, since: s.Since, lastRead: s.Seen, restored: true}
		}
	}
	return states
}

// restore has the pipeline go on with what an earlier process knew; nil: nothing.
func (p *Pipeline) restore(known *Known) {
	if known == nil {
		return
	}
	p.usage.Restore(known.Usage)
	p.throttle.restore(known.Throttled)
	p.states = stateChanges{last: restoredStates(known.States), ended: restoredStates(known.Ended)}
	if f := known.Failure; f != nil && f.Reason < gpu.NumFailureReasons {
		p.sources.last = &gpu.Failure{Reason: f.Reason, Err: errors.New(f.Text)}
	}
	p.checkpoint.known = known
}

// Checkpoint returns what is known after the last read, the events that wait, which it takes, and the sums that are not complete, which go on. The
// events are those that led to what is known, and are not taken twice.
func (p *Pipeline) Checkpoint(host *gpu.Host) (known *Known, open, logs plog.Logs) {
	p.checkpoint.mu.Lock()
	known = p.checkpoint.known
	events, sums := p.waiting.takeWithOpen()
	p.checkpoint.mu.Unlock()
	if known == nil {
		known = &Known{}
	}
	// After the events, so that no event is in both. An event that leaves the kernel's half in between signals Found again.
	return known, p.record(host, append(p.kernel.open(), sums...)), p.record(host, events)
}

// LastCheckpoint is Checkpoint before the pipeline ends: sums are complete.
func (p *Pipeline) LastCheckpoint(host *gpu.Host) (known *Known, logs plog.Logs) {
	events := p.TakeLastEvents()
	p.checkpoint.mu.Lock()
	defer p.checkpoint.mu.Unlock()
	known = p.checkpoint.known
	if known == nil {
		known = &Known{}
	}
	return known, p.record(host, events)
}
