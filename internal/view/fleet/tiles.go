// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// maxGone is how many tiles that are gone are remembered. Who asks for what changed before that gets all tiles.
const maxGone = 8192

// tiles has the tile of each GPU, and since when it is as it is.
type tiles struct {
	byID     map[string]*tile
	removals []goneTile // by generation
	first    uint64     // the generation after which removals is complete
}

type tile struct {
	view.Tile
	generation uint64
	node       *node
}

type goneTile struct {
	id         string
	generation uint64
}

func newTiles(generation uint64) *tiles { return &tiles{byID: map[string]*tile{}, first: generation} }

// update takes over the GPUs of a node. before are the IDs that it had.
func (t *tiles) update(n *node, before, now *view.Node, generation uint64) {
	if now != nil {
		for _, g := range now.GPUs {
			fresh := tileOf(g)
			old := t.byID[g.ID]
			switch {
			case old == nil:
				t.byID[g.ID] = &tile{fresh, generation, n}
			case !equalTiles(&old.Tile, &fresh):
				*old = tile{fresh, generation, n}
			default:
				old.node = n
			}
		}
	}
	if before == nil {
		return
	}
	for _, g := range before.GPUs {
		if old := t.byID[g.ID]; old != nil && old.node == n && !containsGPU(now, g.ID) {
			delete(t.byID, g.ID)
			t.removals = append(t.removals, goneTile{g.ID, generation})
		}
	}
	if excess := len(t.removals) - maxGone; excess > 0 {
		t.first = t.removals[excess-1].generation
		t.removals = slices.Delete(t.removals, 0, excess)
	}
}

func containsGPU(n *view.Node, id string) bool {
	return n != nil && slices.ContainsFunc(n.GPUs, func(g *view.GPU) bool { return g.ID == id })
}

// since returns what changed after a generation, with a label of the nodes.
func (t *tiles) since(since, generation uint64, label string) view.Tiles {
	answer := view.Tiles{Generation: generation, Whole: since < t.first || since > generation, Tiles: []view.Tile{}, Gone: []string{}}
	names := map[string]struct{}{}
	for _, one := range t.byID {
		if !answer.Whole && one.generation <= since {
			continue
		}
		labelled := one.Tile
		labelled.Label = one.node.labels[label]
		answer.Tiles = append(answer.Tiles, labelled)
		for name := range one.node.labels {
			names[name] = struct{}{}
		}
	}
	slices.SortFunc(answer.Tiles, func(a, b view.Tile) int { // as in the lists of nodes and GPUs, but by ID if that decides
		return cmp.Or(compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID))
	})
	if answer.Whole {
		answer.Labels = slices.Sorted(maps.Keys(names))
		return answer
	}
	listed := map[string]bool{}
	for _, one := range t.removals {
		if one.generation > since && t.byID[one.id] == nil && !listed[one.id] {
			listed[one.id] = true
			answer.Gone = append(answer.Gone, one.id)
		}
	}
	return answer
}

// tileOf returns the tile of a GPU.
func tileOf(g *view.GPU) view.Tile {
	return view.Tile{
		ID: g.ID, Parent: g.Parent, Node: g.Node, Cluster: g.Cluster, Index: g.Index, Model: g.Model, Namespace: namespaceOf(g), Status: g.Status,
		Stale: g.Stale, Throttled: g.Slowed(), Idle: g.Idle(),
		Utilization: hundredths(g.Utilization.General), Memory: hundredths(g.Memory.Utilization),
		Temperature: roundedTo(query.CoreTemperature(g), 1), Power: hundredths(g.Power.Utilization), IdleSince: query.IdleSince(g),
	}
}

// hundredths rounds, so that noise does not change a tile.
func hundredths(v *float64) *float64 { return roundedTo(v, 100) }

// roundedTo rounds to a part of one.
func roundedTo(v *float64, part float64) *float64 {
	if v == nil {
		return nil
	}
	rounded := math.Round(*v*part) / part
	return &rounded
}

// namespaceOf returns the namespace of the holders of a GPU, else of its users, nil if it is not one.
func namespaceOf(g *view.GPU) *string {
	var holders, used oneText
	for _, c := range g.Containers {
		if c.Allocated != nil && *c.Allocated {
			holders.add(c.Namespace)
		}
		used.add(c.Namespace)
	}
	for _, p := range g.Processes {
		used.add(p.Namespace)
	}
	if holders.text != nil {
		return holders.only()
	}
	return used.only()
}

// oneText is a text that several things have in common.
type oneText struct {
	text    *string
	several bool
}

func (o *oneText) add(text *string) {
	if text == nil {
		return
	}
	o.several = o.several || o.text != nil && *o.text != *text
	o.text = text
}

func (o *oneText) only() *string {
	if o.several {
		return nil
	}
	return o.text
}

func equalTiles(a, b *view.Tile) bool {
	return a.Node == b.Node && a.Stale == b.Stale && a.Throttled == b.Throttled && a.Idle == b.Idle && same(a.Parent, b.Parent) && same(a.Cluster, b.Cluster) &&
		same(a.Index, b.Index) && same(a.Model, b.Model) && same(a.Namespace, b.Namespace) && same(a.Status, b.Status) &&
		same(a.Utilization, b.Utilization) && same(a.Memory, b.Memory) && same(a.Temperature, b.Temperature) && same(a.Power, b.Power) &&
		same(a.IdleSince, b.IdleSince)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
