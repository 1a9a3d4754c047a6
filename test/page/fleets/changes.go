// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// changes has the tile of each GPU, and the generation in which it became so.
type changes struct {
	mu         sync.Mutex
	generation uint64
	byID       map[string]changed
	removals   map[string]uint64
}

type changed struct {
	view.Tile
	generation uint64
}

func (c *changes) take(s *view.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation = s.Generation
	before := c.byID
	c.byID = map[string]changed{}
	if c.removals == nil {
		c.removals = map[string]uint64{}
	}
	for _, n := range s.Nodes {
		for _, g := range n.GPUs {
			t := view.Tile{
				ID: g.ID, Parent: g.Parent, Node: n.Name, Cluster: n.Cluster, Index: g.Index, Model: g.Model, Namespace: namespace(g), Status: g.Status,
				Stale: g.Stale, Throttled: g.Slowed(), Idle: g.Idle(), Utilization: g.Utilization.General, Memory: g.Memory.Utilization,
				Temperature: query.CoreTemperature(g), Power: g.Power.Utilization, IdleSince: query.IdleSince(g),
			}
			old, ok := before[g.ID]
			if ok && reflect.DeepEqual(old.Tile, t) {
				c.byID[g.ID] = old
			} else {
				c.byID[g.ID] = changed{t, s.Generation}
			}
			delete(before, g.ID)
		}
	}
	for id := range before {
		c.removals[id] = s.Generation
	}
}

func (c *changes) since(since uint64) view.Tiles {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := view.Tiles{Generation: c.generation, Whole: since == 0 || since > c.generation, Tiles: []view.Tile{}, Gone: []string{}}
	for _, t := range c.byID {
		if answer.Whole || t.generation > since {
			answer.Tiles = append(answer.Tiles, t.Tile)
		}
	}
	slices.SortFunc(answer.Tiles, func(a, b view.Tile) int { return strings.Compare(a.ID, b.ID) })
	for id, generation := range c.removals {
		if !answer.Whole && generation > since {
			answer.Gone = append(answer.Gone, id)
		}
	}
	return answer
}

// namespace returns the namespace of the first container, else of the first process.
func namespace(g *view.GPU) *string {
	for _, c := range g.Containers {
		return c.Namespace
	}
	for _, p := range g.Processes {
		return p.Namespace
	}
	return nil
}
