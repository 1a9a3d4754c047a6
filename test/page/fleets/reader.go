// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"encoding/json"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// Reader shows a fleet. Unlike viewtest's, its tiles are those that changed, and every GPU has a history.
type Reader struct {
	*viewtest.Reader
	tiles *changes
}

// NewReader returns a reader of a snapshot.
func NewReader(s *view.Snapshot) *Reader {
	r := &Reader{Reader: viewtest.NewReader(s), tiles: &changes{byID: map[string]changed{}}}
	r.tiles.take(s)
	return r
}

// Set shows another snapshot.
func (r *Reader) Set(s *view.Snapshot) {
	r.tiles.take(s)
	r.Reader.Set(s)
}

// Tiles returns what changed after a generation.
func (r *Reader) Tiles(since uint64, label string) view.Tiles {
	tiles := r.tiles.since(since)
	labels := r.Reader.Tiles(0, label)
	tiles.Labels = labels.Labels
	values := map[string]string{}
	for _, t := range labels.Tiles {
		values[t.ID] = t.Label
	}
	for i := range tiles.Tiles {
		tiles.Tiles[i].Label = values[tiles.Tiles[i].ID]
	}
	return tiles
}

// HistoryFor returns a quarter of an hour.
func (r *Reader) HistoryFor() time.Duration { return 15 * time.Minute }

// HistoryMetrics returns the metrics that have a history.
func (r *Reader) HistoryMetrics() []string {
	return []string{"hw.gpu.io", "hw.gpu.memory.utilization", "hw.gpu.speed", "hw.gpu.utilization", "hw.power", "hw.temperature"}
}

// History returns a quarter of an hour that ends with the present value.
func (r *Reader) History(id, metric string, since time.Time) (view.History, bool) {
	s := r.Snapshot()
	for _, n := range s.Nodes {
		for _, g := range n.GPUs {
			if g.ID == id {
				return past(g, metric, s.Time, since)
			}
		}
	}
	return view.History{}, false
}

// Copy returns a deep copy, to be changed and set.
func Copy(s *view.Snapshot) *view.Snapshot {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	var c view.Snapshot
	if err := json.Unmarshal(text, &c); err != nil {
		panic(err)
	}
	return &c
}
