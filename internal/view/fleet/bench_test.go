// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"testing"
	"time"
)

// A large fleet: 1,000 nodes with 8 GPUs and 64 processes each.
const (
	largeNodes    = 1000
	nodeGPUs      = 8
	nodeProcesses = 64
)

// fill returns a fleet after so many reads of each node, 2 minutes apart.
func fill(tb testing.TB, nodes, reads int) (*Fleet, *watch) {
	tb.Helper()
	f, w := newTestFleet(Settings{})
	for i := range nodes {
		w.now = start
		message := largeNode(i).read(w.now)
		for range reads {
			w.pass(2 * time.Minute)
			f.ConsumeMetrics(messageAt(message, w.now))
		}
	}
	return f, w
}

// largeNode returns a node each of whose GPUs is held by a pod of its own.
func largeNode(i int) *machine {
	m := newMachine(fmt.Sprintf("gpu-node-%04d", i), nodeGPUs, nodeProcesses/nodeGPUs)
	for j := range m.Containers {
		c := *m.Containers[j].Container
		c.PodName, c.PodUID, c.ID = fmt.Sprintf("train-%d-%d", i, j), fmt.Sprintf("uid-%032d-%d", i, j), fmt.Sprintf("%060d%04d", i, j)
		m.Containers[j].Container = &c
		for k := range nodeProcesses / nodeGPUs {
			m.Processes[j*nodeProcesses/nodeGPUs+k].Container = &c
		}
	}
	return m
}

// BenchmarkLargeFleet fills a fleet of 1,000 nodes with an hour of history, and measures its memory.
func BenchmarkLargeFleet(b *testing.B) {
	for range b.N {
		b.ReportMetric(requireMemory(b, largeNodes, 150), "MiB")
	}
}

// BenchmarkIngest takes over the message of one node of a large fleet.
func BenchmarkIngest(b *testing.B) {
	f, w := fill(b, 1, 2)
	message := largeNode(0).read(w.now)
	points := message.DataPointCount()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		w.pass(30 * time.Second)
		messageAt(message, w.now)
		b.StartTimer()
		f.ConsumeMetrics(message)
	}
	b.ReportMetric(float64(points), "points/op")
}

// BenchmarkSnapshot takes a snapshot of a large fleet after a change.
func BenchmarkSnapshot(b *testing.B) {
	f, _ := fill(b, largeNodes, 1)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		f.nodes = nil
		f.Snapshot()
	}
}

// BenchmarkTiles asks for all tiles of a large fleet.
func BenchmarkTiles(b *testing.B) {
	f, _ := fill(b, largeNodes, 1)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		f.Tiles(0, "")
	}
}

// BenchmarkProblems finds the problems of a node of which every GPU is throttled, which each of its messages does. Compare BenchmarkIngest.
func BenchmarkProblems(b *testing.B) {
	f, w := fill(b, 1, 2)
	n := f.state.nodes[nodeKey{cluster: "prod", name: f.Snapshot().Nodes[0].Name}]
	for _, g := range n.shown.GPUs {
		g.Throttled = []string{"hw_thermal"}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		f.noticeProblems(n, n.shown, w.now)
	}
	b.ReportMetric(float64(len(n.problems)), "problems/op")
}
