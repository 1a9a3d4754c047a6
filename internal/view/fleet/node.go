// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// node is a machine. A node without a name is a cluster that a source reads as a whole.
type node struct {
	readings
	key     nodeKey
	cluster *string // nil outside clusters
	host    *string
	labels  map[string]string
	devices map[string]*device // by hw.id

	latest     pcommon.Timestamp // of all points of the node that have a value
	lastUpdate time.Duration     // since the start of the fleet, when a message last changed something
	interval   interval
	ahead      bool          // latest was ahead of this clock when it came
	removed    bool          // by its cluster, which has not offered it since
	settled    time.Duration // since the start of the fleet, until when the clock is not taken to be set back again

	shown    *view.Node            // as of the last message; nil for a cluster
	problems []view.Finding        // with which it is shown
	begins   map[string]view.Begin // of the problems; never changed
	noticed  bool                  // its problems were looked for before
}

// change is what a message changes of a node.
type change struct {
	latest pcommon.Timestamp // of the newest point that has a value
	step   time.Duration     // since the last read
}

// silent reports whether nothing came for three intervals.
func (n *node) silent(now time.Duration) bool { return now-n.lastUpdate > n.interval.silence() }

// expired reports whether a silent node is no longer shown: it or its cluster has ended its series, or it was silent for too long. A cluster is
// no node: its nodes are shown by themselves.
func (n *node) expired(now, after time.Duration) bool {
	if n.key.name == "" {
		after = clusterGone
	}
	silence := n.interval.silence()
	return n.over() || n.removed || now-n.lastUpdate > max(after, silence+silence/silentIntervals)
}

// advance notes what a message brought. A message that is older than the newest by three intervals is not a sign of life: after the clock
// was set back such messages may have something new, and would keep the old times for as long as the clock was set.
func (n *node) advance(c change, m *message) {
	if c.latest == 0 || c.latest+pcommon.Timestamp(n.interval.silence()) < n.latest {
		return
	}
	n.lastUpdate, n.latest = m.now, max(n.latest, c.latest)
	n.ahead = m.ahead(n.latest)
	if c.step > 0 {
		n.interval.add(c.step)
	}
}

// over reports whether all series of the node have ended. It stays known for a while, so that a late message does not bring it back.
func (n *node) over() bool {
	if n.alive() {
		return false
	}
	for _, d := range n.devices {
		if d.shown() {
			return false
		}
	}
	return true
}
