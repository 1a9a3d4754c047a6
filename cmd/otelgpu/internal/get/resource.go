// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package get

import (
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
)

// Resource is a list of the API.
type Resource struct {
	Name  string
	path  string
	table func(client.Entries, Options) ([]byte, error)
}

// Resources are the lists that can be printed.
func Resources() []Resource {
	return []Resource{
		{Name: "nodes", path: client.Nodes, table: table(always(columns.Nodes))},
		{Name: "gpus", path: client.GPUs, table: table(func(now time.Time, _ Options) columns.Set[columns.GPU] { return columns.GPUs(now) })},
		{Name: "processes", path: client.Processes, table: table(always(columns.Processes))},
		{Name: "summary", path: client.Summary, table: table(func(_ time.Time, o Options) columns.Set[columns.Summary] {
			return columns.Summaries(o.Filters.Get("by"))
		})},
		{Name: "workloads", path: client.Workloads, table: table(always(columns.Workloads))},
		{Name: "teams", path: client.Teams, table: table(always(columns.Teams))},
		{Name: "problems", path: client.Problems, table: table(always(columns.Problems))},
		{Name: "events", path: client.Events, table: table(always(columns.Events))},
	}
}

// table prints entries by the columns of their type, at the time of the answer. Columns without known values are left out if a table does
// not need them.
func table[T any](set func(time.Time, Options) columns.Set[*T]) func(client.Entries, Options) ([]byte, error) {
	return func(entries client.Entries, o Options) ([]byte, error) {
		rows, err := client.Decode[T](entries.Items)
		if err != nil {
			return nil, err
		}
		known := set(entries.Time, o).Known(rows)
		return []byte(display.Table(known.Titles(), known.Rights(), known.Texts(rows))), nil
	}
}

func always[T any](set func() columns.Set[T]) func(time.Time, Options) columns.Set[T] {
	return func(time.Time, Options) columns.Set[T] { return set() }
}
