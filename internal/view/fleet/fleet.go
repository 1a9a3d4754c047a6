// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// tick is how often the fleet looks for silent nodes and notifies subscribers.
const tick = time.Second

// Fleet is what is known of all GPUs. All methods are safe for concurrent use. It is a [view.Reader].
type Fleet struct {
	settings    Settings
	start       time.Time
	subscribers subscribers
	stop        chan struct{}
	stopped     sync.WaitGroup

	mu         sync.Mutex
	generation uint64
	state      *state
	tiles      *tiles
	pasts      pasts
	usages     usages
	events     *events
	nodes      []*view.Node   // by cluster and name; nil after a change
	clusters   []view.Cluster // by name
	ended      []view.Finding // the last problems that ended, in the order of their end
}

var _ view.Reader = (*Fleet)(nil)

// New returns a Fleet that knows nothing.
func New(settings Settings) *Fleet {
	settings = settings.withDefaults()
	start := settings.Now()
	generation := uint64(start.UnixMicro()) // so that no generation of an earlier run seems to be known
	return &Fleet{
		settings: settings, start: start, stop: make(chan struct{}), generation: generation, state: newState(settings), tiles: newTiles(generation),
		pasts: pasts{keep: settings.HistoryFor, points: settings.HistoryPoints, max: settings.MaxGPUs, byID: map[string]*history{}}, events: newEvents(settings.MaxEvents),
		usages: usages{max: settings.MaxGPUs, entries: map[usageKey]*usage{}},
	}
}

// Start starts to look for silent nodes and to notify subscribers of changes, until Shutdown.
func (f *Fleet) Start() {
	f.stopped.Go(func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		var notified uint64
		for {
			select {
			case <-f.stop:
				return
			case <-ticker.C:
			}
			if generation := f.sweep(); generation != notified {
				notified = generation
				f.subscribers.notify(generation)
			}
		}
	})
}

// Shutdown ends what Start started. It must be called once.
func (f *Fleet) Shutdown() {
	close(f.stop)
	f.stopped.Wait()
}

// ConsumeMetrics takes over what a message says. It keeps no reference to it.
func (f *Fleet) ConsumeMetrics(metrics pmetric.Metrics) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := message{state: f.state, now: f.now(), changed: map[*node]change{}, offered: map[nodeKey]bool{}}
	m.clock = pcommon.NewTimestampFromTime(f.clockTime(m.now))
	m.add(metrics)
	if len(m.changed) == 0 {
		return
	}
	f.generation++
	for n, c := range m.changed {
		n.advance(c, &m)
		f.update(n, m.now)
	}
}

// ConsumeLogs takes over the events of a message. It keeps no reference to it.
func (f *Fleet) ConsumeLogs(logs plog.Logs) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, changed := f.settings.Now(), false
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				if !isEvent(record) {
					f.state.dropped.add(dropForeign, 1)
					continue
				}
				changed = f.events.add(eventOf(rl.Resource().Attributes(), record, now)) || changed
			}
		}
	}
	if changed {
		f.generation++
	}
}

// update shows a node again after a change.
func (f *Fleet) update(n *node, now time.Duration) {
	f.nodes, f.clusters = nil, nil
	before := n.shown
	n.shown = nil
	silent := n.silent(now)
	if !silent { // else its last values stay
		f.state.expire(n, now)
	}
	if n.key.name != "" && !n.over() {
		s := renderer{fields: f.state.fields, node: n, empty: map[string]float64{}, clockTime: f.clockTime, idleThreshold: f.settings.IdleThreshold, idleAfter: f.settings.IdleAfter}
		n.shown = s.render()
		if silent { // it lost a GPU to another node
			n.shown = staleOf(n.shown)
		}
	}
	f.noticeProblems(n, before, f.clockTime(now))
	f.tiles.update(n, before, n.shown, f.generation)
	if n.shown == nil {
		return
	}
	for _, g := range n.shown.GPUs {
		d := n.devices[g.ID]
		if d.lastUpdate < now {
			continue // this message was of other devices
		}
		f.usages.add(n, d, g, now)
		f.pasts.add(g, d.newest, now, f.clockTime(now), n.interval.silence())
	}
}

// sweep marks silent nodes, forgets those that are gone, and returns the generation.
func (f *Fleet) sweep() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	f.pasts.expire(now)
	for _, n := range f.state.nodes {
		if !n.silent(now) {
			continue
		}
		before := n.shown
		switch {
		case n.expired(now, f.settings.GoneAfter):
			f.state.remove(n)
			n.shown = nil
		case before != nil && before.State == view.Live:
			n.shown = staleOf(before)
		default:
			continue
		}
		f.generation++
		f.nodes, f.clusters = nil, nil
		f.noticeProblems(n, before, f.clockTime(now))
		f.tiles.update(n, before, n.shown, f.generation)
	}
	return f.generation
}

// Snapshot returns what is known now.
func (f *Fleet) Snapshot() *view.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes == nil {
		f.collect()
	}
	return &view.Snapshot{
		Time: f.settings.Now(), Instance: f.settings.Instance, Generation: f.generation, Clusters: f.clusters, Nodes: f.nodes,
	}
}

// Generation returns the generation of what is known now.
func (f *Fleet) Generation() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.generation
}

// collect makes the lists of nodes and clusters.
func (f *Fleet) collect() {
	f.nodes = make([]*view.Node, 0, len(f.state.nodes))
	clusters := map[string]*view.Cluster{}
	for key, n := range f.state.nodes {
		if n.shown != nil {
			f.nodes = append(f.nodes, n.shown)
		}
		if n.over() || key.cluster == "" && key.name != "" {
			continue
		}
		c := clusters[key.cluster]
		if c == nil {
			c = &view.Cluster{Name: key.cluster, Sources: []view.Source{}}
			clusters[key.cluster] = c
		}
		if key.name == "" {
			c.Sources = sources(&n.readings, f.state.fields)
			c.Readable, c.Begins = readable(c.Sources), n.begins
		}
		if lastSeen := f.clockTime(n.lastUpdate); lastSeen.After(c.LastSeen) {
			c.LastSeen = lastSeen
		}
	}
	slices.SortFunc(f.nodes, func(a, b *view.Node) int { return cmp.Or(compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name)) })
	f.clusters = make([]view.Cluster, 0, len(clusters))
	for _, c := range clusters {
		f.clusters = append(f.clusters, *c)
	}
	slices.SortFunc(f.clusters, func(a, b view.Cluster) int { return cmp.Compare(a.Name, b.Name) })
}

// History returns the points of one metric of one GPU after a time. It reports whether there is a history of that GPU and metric.
func (f *Fleet) History(id, metric string, since time.Time) (view.History, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	past := f.pasts.byID[id]
	i := slices.IndexFunc(columns[:], func(c column) bool { return c.name == metric })
	if past == nil || i < 0 {
		return view.History{}, false
	}
	return view.History{ID: id, Metric: metric, Unit: columns[i].unit, Points: past.points(i, since, &f.pasts)}, true
}

// HistoryFor returns how far back the history goes.
func (f *Fleet) HistoryFor() time.Duration { return f.pasts.keep }

// HistoryMetrics returns the metrics that have a history, by name.
func (f *Fleet) HistoryMetrics() []string {
	names := make([]string, 0, numColumns)
	for i := range columns {
		names = append(names, columns[i].name)
	}
	return names
}

// Usage returns what each workload has held and used since a time: the start of the fleet.
func (f *Fleet) Usage() (time.Time, []view.Usage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start, f.usages.all()
}

// Events returns the last events, the one that came last first.
func (f *Fleet) Events() []view.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events.newest()
}

// Tiles returns what changed after a generation; all tiles if that is too long ago, or 0. Each has the value of a label of its node.
func (f *Fleet) Tiles(since uint64, label string) view.Tiles {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tiles.since(since, f.generation, label)
}

// Subscribe sends the generation after changes, at most one a second; a slow reader misses intermediate ones. The function ends it.
func (f *Fleet) Subscribe() (<-chan uint64, func()) { return f.subscribers.add() }

// Dropped returns how many points and log records were not shown, by reason.
func (f *Fleet) Dropped() map[string]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := make(map[string]uint64, drops)
	for why, count := range f.state.dropped.counts {
		counts[dropNames[why]] = count
	}
	return counts
}

// now is the time since the start, which no change of the clock touches.
func (f *Fleet) now() time.Duration { return f.settings.Now().Sub(f.start) }

func (f *Fleet) clockTime(elapsed time.Duration) time.Time { return f.start.Add(elapsed) }
