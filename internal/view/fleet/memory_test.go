// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// megabyte is what the bound is in.
const megabyte = 1 << 20

// A fleet of 1,000 nodes with an hour of history needs at most 150 MiB. A tenth of it is measured; BenchmarkLargeFleet measures all.
func TestMemory(t *testing.T) { requireMemory(t, largeNodes/10, 15) }

func requireMemory(tb testing.TB, nodes int, most float64) float64 {
	tb.Helper()
	before := heap()
	f, _ := fill(tb, nodes, 31)
	grown := (float64(heap()) - float64(before)) / megabyte
	s := f.Snapshot()
	require.Len(tb, s.Nodes, nodes)
	require.Len(tb, s.Nodes[0].GPUs, nodeGPUs)
	require.Len(tb, s.Nodes[0].GPUs[0].Processes, nodeProcesses/nodeGPUs)
	history, ok := f.History(s.Nodes[0].GPUs[0].ID, "hw.power", time.Time{})
	require.True(tb, ok)
	require.GreaterOrEqual(tb, len(history.Points), 25)
	tb.Logf("%d nodes with %d GPUs and %d processes each: %.1f MiB", nodes, nodeGPUs, nodeProcesses, grown)
	require.Less(tb, grown, most)
	return grown
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
