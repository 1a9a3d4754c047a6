// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// maxEnded is how many problems that ended are kept.
const maxEnded = 1000

// noticeProblems notes which problems of a node or a cluster began and ended since it was shown before. A silent node ends no problem: whether
// it goes on is not known.
func (f *Fleet) noticeProblems(n *node, before *view.Node, now time.Time) {
	found, first := f.findings(n), !n.noticed
	n.noticed = true
	if len(found) == 0 && len(n.problems) == 0 {
		return
	}
	begins := make(map[string]view.Begin, len(found))
	current := make(map[string]bool, len(found))
	for i := range found {
		p := &found[i]
		key := p.Key()
		current[key] = true
		old := slices.IndexFunc(n.problems, func(old view.Finding) bool { return old.Key() == key })
		switch {
		case p.Begin != nil:
		case old >= 0:
			p.Begin, p.BeginKnown = n.problems[old].Begin, n.problems[old].BeginKnown
		default:
			p.Begin, p.BeginKnown = &now, !first && (p.GPU == nil || containsGPU(before, *p.GPU))
		}
		begins[key] = view.Begin{Time: *p.Begin, Known: p.BeginKnown}
	}
	for _, old := range n.problems {
		switch key := old.Key(); {
		case current[key]:
		case n.shown != nil && n.shown.State == view.Stale:
			found = append(found, old)
			begins[key] = view.Begin{Time: *old.Begin, Known: old.BeginKnown}
		default:
			old.End = &now
			query.SetAge(&old, now)
			f.ended = append(f.ended, old)
		}
	}
	f.ended = slices.Delete(f.ended, 0, max(0, len(f.ended)-maxEnded))
	n.problems, n.begins = found, begins
	if n.shown != nil {
		n.shown.Begins = begins
	}
}

// findings returns what is wrong with a node and its GPUs, or with a cluster.
func (f *Fleet) findings(n *node) []view.Finding {
	switch {
	case n.shown != nil:
		return query.OfNode(n.shown)
	case n.key.name == "" && !n.over() && f.state.nodes[n.key] == n:
		return query.OfCluster(&view.Cluster{Name: n.key.cluster, Sources: sources(&n.readings, f.state.fields)})
	default:
		return nil
	}
}

// Ended returns the last problems that ended, the one that ended last first.
func (f *Fleet) Ended() []view.Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.ended)
	slices.Reverse(all)
	return all
}
