// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package viewtest

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// HistoryMetric is the metric that has a history.
const HistoryMetric = "hw.gpu.utilization"

// Reader shows a snapshot, with a few events and a history. Use NewReader.
type Reader struct {
	mu          sync.Mutex
	snapshot    *view.Snapshot
	subscribers map[chan uint64]struct{}
}

// NewReader returns a reader of a snapshot.
func NewReader(s *view.Snapshot) *Reader {
	return &Reader{snapshot: s, subscribers: map[chan uint64]struct{}{}}
}

// Set shows another snapshot, and notifies subscribers of its generation.
func (r *Reader) Set(s *view.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot = s
	for c := range r.subscribers {
		select {
		case <-c:
		default:
		}
		c <- s.Generation
	}
}

// Subscribers returns how many there are.
func (r *Reader) Subscribers() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.subscribers)
}

// Snapshot returns the present snapshot.
func (r *Reader) Snapshot() *view.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot
}

// Generation returns the generation of the present snapshot.
func (r *Reader) Generation() uint64 { return r.Snapshot().Generation }

// HistoryFor returns an hour.
func (r *Reader) HistoryFor() time.Duration { return time.Hour }

// HistoryMetrics returns the one metric that has a history.
func (r *Reader) HistoryMetrics() []string { return []string{HistoryMetric} }

// History returns three points of prod/n1's first GPU: a value, a gap, and a value.
func (r *Reader) History(id, metric string, since time.Time) (view.History, bool) {
	if id != "GPU-n1-0" || metric != HistoryMetric {
		return view.History{}, false
	}
	points := []view.HistoryPoint{
		{Time: Now.Add(-60 * time.Second), Value: new(0.9), Min: new(0.5), Max: new(0.97)}, {Time: Now.Add(-30 * time.Second)}, {Time: Now, Value: new(0.97), Min: new(0.97), Max: new(0.97)},
	}
	points = slices.DeleteFunc(points, func(p view.HistoryPoint) bool { return !p.Time.After(since) })
	return view.History{ID: id, Metric: metric, Unit: "1", Points: points}, true
}

// Events returns the XID that failed prod/n2's second GPU, its status, an event of a node that is gone, and one of each other event.
func (r *Reader) Events() []view.Event {
	return append([]view.Event{
		{
			UID: "e3", Name: "hw.gpu.status", Time: Now.Add(-time.Minute), Observed: Now.Add(-time.Minute), Severity: "ERROR",
			Body: new("GPU failed: lost"), Node: new("n2"), Cluster: new("prod"), GPU: new("GPU-n2-1"),
			Attributes: map[string]any{"hw.state": "failed", "error.type": "lost"},
		},
		{
			UID: "e2", Name: "hw.gpu.xid", Time: Now.Add(-2 * time.Minute), Observed: Now.Add(-time.Minute), Severity: "ERROR",
			Body: new("XID 79"), Node: new("n2"), Cluster: new("prod"), GPU: new("GPU-n2-1"), Attributes: map[string]any{"hw.gpu.xid": 79},
		},
		{
			UID: "e1", Name: "hw.gpu.status", Time: Now.Add(-10 * time.Minute), Observed: Now.Add(-10 * time.Minute), Severity: "INFO",
			Node: new("retired"), Cluster: new("lab"), GPU: new("GPU-retired-0"), Attributes: map[string]any{"hw.state": "ok"},
		},
	}, otherEvents()...)
}

// Usage returns an hour of prod's train on two GPUs, of which one was idle for half of it, and a job of Slurm that has ended.
func (r *Reader) Usage() (time.Time, []view.Usage) {
	return Now.Add(-time.Hour), []view.Usage{
		{Cluster: "prod", Namespace: "ml", Kind: "StatefulSet", Workload: "train", Labels: map[string]string{"team": "vision"}, Held: 7200, Idle: new(1800.0), Energy: new(3.6e6)},
		{Node: "workstation", Kind: "SlurmJob", Workload: "7", Account: "physics", Held: 600},
	}
}

// Ended returns one problem: the first GPU of lab/n1 was throttled for 12 minutes.
func (r *Reader) Ended() []view.Finding {
	return []view.Finding{{
		Kind: "throttled", Severity: view.SeverityWarning, Cluster: new("lab"), Node: new("n9"), GPU: new("GPU-n9-0"), Index: new(0),
		Begin: new(Now.Add(-time.Hour)), BeginKnown: true, End: new(Now.Add(-48 * time.Minute)), Age: new(720.0), Workloads: []string{"ml/train"},
		What: "Clocks are throttled", Detail: "thermal_gpu", Consequence: "Work on the GPU is slower.", Remedy: "Check the cooling.",
		Runbook: "https://github.com/otelgpu/gpureceiver/blob/main/docs/operate/alerts.md#gputhrottled",
	}}
}

// Tiles returns a tile for each GPU, whatever has changed.
func (r *Reader) Tiles(since uint64, label string) view.Tiles {
	s := r.Snapshot()
	tiles := view.Tiles{Generation: s.Generation, Whole: since == 0, Tiles: []view.Tile{}, Gone: []string{}}
	if since == s.Generation {
		return tiles
	}
	for _, n := range s.Nodes {
		if tiles.Whole {
			tiles.Labels = slices.AppendSeq(tiles.Labels, maps.Keys(n.Labels))
		}
		for _, g := range n.GPUs {
			tiles.Tiles = append(tiles.Tiles, view.Tile{
				ID: g.ID, Parent: g.Parent, Node: n.Name, Cluster: n.Cluster, Index: g.Index, Model: g.Model, Status: g.Status,
				Stale: g.Stale, Throttled: g.Slowed(), Idle: g.Idle(), Utilization: g.Utilization.General, Memory: g.Memory.Utilization, Label: n.Labels[label],
			})
		}
	}
	return tiles
}

// Subscribe sends the generation of each snapshot that is set.
func (r *Reader) Subscribe() (<-chan uint64, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan uint64, 1)
	r.subscribers[c] = struct{}{}
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, c)
	}
}
