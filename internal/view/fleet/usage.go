// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// usages adds up what workloads hold and use, since the start of the fleet.
type usages struct {
	max     int // entries
	entries map[usageKey]*usage
}

// usageKey identifies an entry.
type usageKey struct {
	query.Owner
	account, labels string // labels: name=value in their order, each followed by a zero byte
}

type usage struct {
	view.Usage
	counted time.Duration // since the start of the fleet, when it last grew
}

// add counts what the containers of a device have held and used since the device was last counted. A container that is new, or whose node
// was silent in between, is counted from now on. The time of a device that several containers hold is divided among them, so that the sum
// over all workloads is the time of the devices.
func (l *usages) add(n *node, d *device, g *view.GPU, now time.Duration) {
	elapsed := now - d.counted
	if elapsed > n.interval.silence() {
		elapsed = 0
	}
	d.counted = now
	holders := 0.0
	for _, c := range d.containers {
		if c.held && c.holds() {
			holders++
		}
	}
	for _, c := range d.containers {
		if c.shown == nil {
			continue
		}
		if u := l.entry(n, c, now); u != nil {
			if c.held && c.holds() {
				u.Held += elapsed.Seconds() / holders
				if c.idle {
					u.Idle = sumOf(u.Idle, floatOf(elapsed.Seconds()/holders))
				} else if c.shown.Utilization != nil || g.Utilization.General != nil {
					u.Idle = sumOf(u.Idle, new(0.0))
				}
			}
			if energy := c.shown.Energy; energy != nil && c.energy != nil && *energy >= *c.energy {
				u.Energy = sumOf(u.Energy, floatOf(*energy-*c.energy))
			}
		}
		c.held, c.energy = c.holds(), c.shown.Energy
	}
}

// holds reports whether the container holds the device, as of the last message.
func (c *container) holds() bool {
	return c.shown != nil && c.shown.Allocated != nil && *c.shown.Allocated
}

// entry returns the entry of a container's workload, nil if no workload is known.
func (l *usages) entry(n *node, c *container, now time.Duration) *usage {
	owner, ok := query.OwnerOf(&c.user, n.shown)
	if !ok {
		return nil
	}
	key := usageKey{Owner: owner, account: shownText(c.user.SlurmAccount), labels: joined(c.user.Labels)}
	u := l.entries[key]
	if u == nil {
		for len(l.entries) >= l.max {
			l.fold()
		}
		u = &usage{Usage: usageOf(key)}
		u.Labels = c.user.Labels
		l.entries[key] = u
	}
	u.counted = now
	return u
}

func usageOf(key usageKey) view.Usage {
	return view.Usage{
		Cluster: key.Cluster, Node: key.Node, Namespace: key.Namespace, Kind: key.Kind, Workload: key.Name, Account: key.account,
	}
}

// fold makes room: it adds the quarter of the entries that have not grown for longest to entries with fewer names. The sums stay complete.
func (l *usages) fold() {
	keys := slices.SortedFunc(maps.Keys(l.entries), func(a, b usageKey) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(l.entries[a].counted, l.entries[b].counted))
	})
	for _, key := range keys[:max(1, len(keys)/4)] {
		u := l.entries[key]
		delete(l.entries, key)
		fewer := key.fewerNames()
		sum := l.entries[fewer]
		if sum == nil {
			sum = &usage{Usage: usageOf(fewer)}
			l.entries[fewer] = sum
		}
		sum.Held, sum.Idle, sum.Energy = sum.Held+u.Held, sumOf(sum.Idle, u.Idle), sumOf(sum.Energy, u.Energy)
		sum.counted = max(sum.counted, u.counted)
	}
}

// rank is the order in which keys lose names: a key of a workload first, then a key of a namespace or an account, then a key of a cluster.
func (k *usageKey) rank() int {
	switch {
	case k.Kind+k.Name+k.Node+k.labels != "":
		return 0
	case k.Namespace+k.account != "":
		return 1
	default:
		return 2
	}
}

// fewerNames returns the key without the workload, then without the namespace and the account, then without the cluster.
func (k *usageKey) fewerNames() usageKey {
	switch k.rank() {
	case 0:
		return usageKey{Owner: query.Owner{Cluster: k.Cluster, Namespace: k.Namespace}, account: k.account}
	case 1:
		return usageKey{Owner: query.Owner{Cluster: k.Cluster}}
	default:
		return usageKey{}
	}
}

// all returns copies of the entries.
func (l *usages) all() []view.Usage {
	all := make([]view.Usage, 0, len(l.entries))
	for _, u := range l.entries {
		one := u.Usage
		one.Idle, one.Energy = sumOf(u.Idle), sumOf(u.Energy)
		all = append(all, one)
	}
	return all
}

func joined(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text.WriteString(name + "=" + labels[name] + "\x00")
	}
	return text.String()
}
