// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"
	"github.com/otelgpu/gpureceiver/internal/view"
)

const (
	// maxRows is how many rows a pane shows. The server sorts, so that they are the first of all.
	maxRows = 200
	// maxPodGPUs is of how many GPUs the pods are shown: no route of the API sorts pods.
	maxPodGPUs = 500
)

// pane is one of the tables.
type pane struct {
	name    string
	columns []heading
	order   order // with which it starts
	load    func(ctx context.Context, c *client.Client, s scope, o order, filter string) (table, error)
}

// heading is a column of a pane.
type heading struct {
	title, field string
	right        bool
	number       bool
	keep         int
	identity     bool
	least        int // cells to which it may be shortened; 0: it is not
}

// order is a column to sort by. The zero value is the server's own order.
type order struct {
	field      string
	descending bool
}

func (o order) parameter() string {
	if o.descending {
		return "-" + o.field
	}
	return o.field
}

// scope is a part of a fleet.
type scope struct{ cluster, node string }

func (s scope) parameters() url.Values {
	query := url.Values{}
	if s.cluster != "" {
		query.Set("cluster", s.cluster)
	}
	if s.node != "" {
		query.Set("node", s.node)
	}
	return query
}

// table is what a pane shows.
type table struct {
	columns []heading
	rows    []row
	total   int    // rows that there are
	note    string // about what is missing
}

// row is one line. Enter leads to its GPU, else to its cluster and node.
type row struct {
	key   string
	place scope
	gpu   string // hw.id; empty: the row is not about one GPU
	cells []cell
}

type cell struct {
	text  string
	level columns.Level
}

// The numbers of the panes that others name.
const (
	paneGPUs = iota
	paneProcesses
	panePods
	paneWorkloads
	paneNodes
)

// panes are all tables, in the order of their keys.
func panes() []pane {
	return []pane{
		listPane("GPUs", client.GPUs, "", columns.GPUs, order{field: "health"},
			func(g columns.GPU) row { return row{key: g.ID, place: scopeOf(g.Cluster, g.Node), gpu: g.ID} }),
		listPane("Processes", client.Processes, "", always(columns.Processes), order{"memory_bytes", true},
			func(p columns.Process) row {
				return row{key: p.GPU + " " + number(p.PID), place: scopeOf(p.Cluster, p.Node), gpu: p.GPU}
			}),
		podPane(),
		listPane("Workloads", client.Workloads, "", always(columns.Workloads), order{},
			func(w columns.Workload) row { return row{key: key(w.Cluster, w.Node, w.Namespace, w.Kind, &w.Name)} }),
		listPane("Nodes", client.Summary, "node", sumsBy("node"), order{"failed", true},
			func(s columns.Summary) row {
				return row{key: key(s.Cluster, s.Group), place: scopeOf(s.Cluster, text(s.Group))}
			}),
		listPane("Clusters", client.Summary, "cluster", sumsBy("cluster"), order{"failed", true},
			func(s columns.Summary) row { return row{key: key(s.Group), place: scopeOf(s.Group, "")} }),
		listPane("Problems", client.Problems, "", always(columns.Problems), order{},
			func(f columns.Problem) row {
				return row{key: key(f.Cluster, f.Node) + f.Key(), place: placeOf(f.Cluster, f.Node), gpu: text(f.GPU)}
			}),
		listPane("Events", client.Events, "", always(columns.Events), order{},
			func(e columns.Event) row { return row{key: e.UID, place: placeOf(e.Cluster, e.Node), gpu: text(e.GPU)} }),
	}
}

// placeOf is scopeOf for what may have neither node nor cluster.
func placeOf(cluster, node *string) scope {
	if cluster == nil && node == nil {
		return scope{}
	}
	return scopeOf(cluster, text(node))
}

// scopeOf is a place. Outside clusters the API calls the cluster "-".
func scopeOf(cluster *string, node string) scope {
	if cluster == nil {
		return scope{cluster: "-", node: node}
	}
	return scope{cluster: *cluster, node: node}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func key(parts ...*string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(text(p) + "\x00")
	}
	return b.String()
}

// listPane shows a list of the API.
func listPane[T any](name, path, grouping string, columnsAt func(time.Time) columns.Set[*T], first order, identify func(*T) row) pane {
	return pane{
		name: name, columns: headings(columnsAt(time.Time{})), order: first,
		load: func(ctx context.Context, c *client.Client, s scope, o order, filter string) (table, error) {
			query := s.parameters()
			if filter != "" {
				query.Set("search", filter)
			}
			if grouping != "" {
				query.Set("by", grouping)
			}
			if o.field != "" {
				query.Set("sort", o.parameter())
			}
			entries, err := c.List(ctx, path, query, maxRows)
			if err != nil {
				return table{}, err
			}
			rows, err := client.Decode[T](entries.Items)
			if err != nil {
				return table{}, err
			}
			return newTable(columnsAt(entries.Time), rows, entries.Total, identify), nil
		},
	}
}

func always[T any](set func() columns.Set[T]) func(time.Time) columns.Set[T] {
	return func(time.Time) columns.Set[T] { return set() }
}

func sumsBy(grouping string) func(time.Time) columns.Set[columns.Summary] {
	return func(time.Time) columns.Set[columns.Summary] { return columns.Summaries(grouping) }
}

// podPane shows who holds and uses GPUs.
func podPane() pane {
	set := columns.Pods()
	identify := func(p *columns.Pod) row {
		return row{key: key(p.Cluster, &p.Node, &p.Name), place: scopeOf(p.Cluster, p.Node)}
	}
	return pane{
		name: "Pods", columns: headings(set),
		load: func(ctx context.Context, c *client.Client, s scope, o order, filter string) (table, error) {
			query := s.parameters()
			if filter != "" {
				query.Set("search", filter)
			}
			entries, err := c.List(ctx, client.GPUs, query, maxPodGPUs)
			if err != nil {
				return table{}, err
			}
			gpus, err := client.Decode[view.GPU](entries.Items)
			if err != nil {
				return table{}, err
			}
			pods := columns.PodsOf(gpus)
			if c := set.Find(o.field); c != nil {
				slices.SortStableFunc(pods, func(a, b *columns.Pod) int { return columns.Compare(c.Value(a), c.Value(b), o.descending) })
			}
			if filter != "" { // a GPU that was found may have other pods
				pods = slices.DeleteFunc(pods, func(p *columns.Pod) bool { return !containsText(set, p, filter) })
			}
			t := newTable(set, pods, len(pods), identify)
			if entries.Total > len(gpus) {
				t.note = "pods of the first " + number(len(gpus)) + " of " + number(entries.Total) + " GPUs; choose a node or a cluster to see its pods"
			}
			return t, nil
		},
	}
}

// containsText reports whether a cell contains a text, in upper or lower case.
func containsText[T any](set columns.Set[T], r T, text string) bool {
	return slices.ContainsFunc(set, func(c columns.Column[T]) bool {
		return strings.Contains(strings.ToLower(c.Text(r)), strings.ToLower(text))
	})
}

func headings[T any](set columns.Set[T]) []heading {
	all := make([]heading, len(set))
	for i, c := range set {
		keep := c.Keep
		if c.Identity {
			keep += 1000 // after all others
		}
		all[i] = heading{title: c.Title, field: c.Field, right: c.Right, number: c.Number, keep: keep, identity: c.Identity, least: c.Min}
	}
	return all
}

func newTable[T any](set columns.Set[T], rows []T, total int, identify func(T) row) table {
	set = set.Known(rows)
	t := table{columns: headings(set), rows: make([]row, len(rows)), total: total}
	for i, r := range rows {
		cells := make([]cell, len(set))
		for j, c := range set {
			cells[j].text = c.Text(r)
			if c.Level != nil {
				cells[j].level = c.Level(r)
			}
		}
		t.rows[i] = identify(r)
		t.rows[i].cells = cells
	}
	return t
}
