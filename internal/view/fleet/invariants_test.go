// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// violations returns the violated invariants, for any messages: a GPU that is shown twice, something without bound, numbers that JSON does
// not have, and tiles that differ from the GPUs.
func violations(f *Fleet) []string {
	var result []string
	add := func(format string, args ...any) { result = append(result, fmt.Sprintf(format, args...)) }
	s := f.Snapshot()
	if _, err := json.Marshal(s); err != nil {
		add("the snapshot is no JSON: %v", err)
	}
	if _, err := json.Marshal(f.Events()); err != nil {
		add("the events are no JSON: %v", err)
	}
	gpus := map[string]string{}
	for _, n := range s.Nodes {
		for _, g := range n.GPUs {
			if gpus[g.ID] != "" {
				add("%s is shown at %s and %s", g.ID, gpus[g.ID], n.Name)
			}
			gpus[g.ID] = n.Name
			if g.Node != n.Name || !same(g.Cluster, n.Cluster) {
				add("%s of %s says that it is of %s", g.ID, n.Name, g.Node)
			}
			for _, metric := range f.HistoryMetrics() {
				history, ok := f.History(g.ID, metric, start.AddDate(-1000, 0, 0))
				if _, err := json.Marshal(history); err != nil || !ok || len(history.Points) > 2*f.settings.HistoryPoints {
					add("the history of %s: %v, %d points, %v", g.ID, ok, len(history.Points), err)
				}
			}
		}
	}
	var ids []string
	for _, tile := range f.Tiles(0, "").Tiles {
		ids = append(ids, tile.ID)
		if gpus[tile.ID] != tile.Node {
			add("the tile of %s is at %s, the GPU at %q", tile.ID, tile.Node, gpus[tile.ID])
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, slices.Sorted(maps.Keys(gpus))) {
		add("the tiles are of %v, the GPUs are %v", ids, slices.Sorted(maps.Keys(gpus)))
	}
	return append(result, unbounded(f)...)
}

// unbounded returns counts that are wrong or above their limits.
func unbounded(f *Fleet) []string {
	var result []string
	devices, uses := 0, 0
	for _, n := range f.state.nodes {
		devices += len(n.devices)
		for id, d := range n.devices {
			uses += len(d.processes) + len(d.containers)
			if f.state.owners[id] != n {
				result = append(result, id+" is in a node that does not own it")
			}
		}
	}
	s := f.settings
	if len(f.state.nodes) > s.MaxNodes || devices > s.MaxGPUs || devices != len(f.state.owners) || uses != f.state.uses || uses > 2*s.MaxProcesses ||
		len(f.pasts.byID) > s.MaxGPUs || len(f.state.fields.keys) > maxFields || len(f.events.ring) > s.MaxEvents {
		result = append(result, fmt.Sprintf("%d nodes, %d devices, %d owners, %d uses, counted %d", len(f.state.nodes), devices, len(f.state.owners), uses, f.state.uses))
	}
	return result
}

// page is a reader that asks for what changed.
type page struct {
	generation uint64
	tiles      map[string]view.Tile
}

// refresh takes over what changed, and returns what is wrong on the page then.
func (p *page) refresh(f *Fleet) []string {
	changes := f.Tiles(p.generation, "")
	if changes.Whole || p.tiles == nil {
		p.tiles = map[string]view.Tile{}
	}
	for _, id := range changes.Gone {
		delete(p.tiles, id)
	}
	for _, tile := range changes.Tiles {
		p.tiles[tile.ID] = tile
	}
	p.generation = changes.Generation
	all := f.Tiles(0, "").Tiles
	if len(all) != len(p.tiles) {
		return []string{fmt.Sprintf("the page has %d tiles, there are %d", len(p.tiles), len(all))}
	}
	for _, tile := range all {
		if old := p.tiles[tile.ID]; !equalTiles(&old, &tile) {
			return []string{"the page has an old tile of " + tile.ID}
		}
	}
	return nil
}
