// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

const gib = 1 << 30

// row is what a test compares of a sum. Memory is in GiB; a quantity that is not there is -1 here.
type row struct {
	group, cluster, namespace, kind, node               string
	nodes, gpus, healthy, throttled                     int
	degraded, predicted, failed, unknown, stale         int
	total, used, utilization, temperature, power, limit float64
	processes                                           int
}

func rowOf(s *view.Summary) row {
	value := func(v *float64, unit float64) float64 {
		if v == nil {
			return -1
		}
		return *v / unit
	}
	processes := -1
	if s.Processes != nil {
		processes = *s.Processes
	}
	return row{
		text(s.Group), text(s.Cluster), text(s.Namespace), text(s.Kind), text(s.Node), s.Nodes, s.GPUs, s.Healthy, s.Throttled,
		s.Degraded, s.PredictedFailure, s.Failed, s.Unknown, s.Stale,
		value(s.Memory.Total, gib), value(s.Memory.Used, gib), value(s.Utilization, 1), value(s.Temperature, 1), value(s.Power, 1),
		value(s.PowerLimit, 1), processes,
	}
}

// The sums are calculated by hand from the comment of viewtest.Snapshot and its values.
func TestSummarize(t *testing.T) {
	train, script := "train", "<script>alert(1)</script>"
	for _, test := range []struct {
		name     string
		scope    Scope
		grouping By
		want     []row
	}{
		{"everything", Scope{}, ByNothing, []row{
			// Memory: 4×80 + 40 + 2×192 + 24. Utilization: (0.97+0+0.5+1 + 0 + 2×0.25 + 0.1) / 8; the failed GPU has none, and the divided
			// one has the utilization of its partitions. Temperature: (3×40+88 + 40 + 2×40 + 40) / 8. Power: 650+70+300+700 + 120 + 2×400 +
			// 60; limit: 8×700.
			{nodes: 6, gpus: 9, healthy: 6, throttled: 1, failed: 1, stale: 1, total: 768, used: 325, utilization: 3.07 / 8, temperature: 46, power: 2700, limit: 5600, processes: 2},
		}},
		{"one cluster", Scope{Cluster: "prod"}, ByNothing, []row{
			{
				cluster: "prod", nodes: 4, gpus: 6, healthy: 4, throttled: 1, failed: 1, total: 360, used: 131, utilization: 2.47 / 5, temperature: 248.0 / 5,
				power: 1840, limit: 3500, processes: 2,
			},
		}},
		{"outside clusters", Scope{Cluster: NoCluster}, ByNothing, []row{
			{nodes: 1, gpus: 1, stale: 1, total: 24, used: 2, utilization: 0.1, temperature: 40, power: 60, limit: 700},
		}},
		{"a node that cannot be read", Scope{Node: "unread"}, ByNothing, []row{
			{nodes: 1, total: -1, used: -1, utilization: -1, temperature: -1, power: -1, limit: -1, processes: -1},
		}},
		{"cluster", Scope{}, ByCluster, []row{
			{nodes: 1, gpus: 1, stale: 1, total: 24, used: 2, utilization: 0.1, temperature: 40, power: 60, limit: 700},
			{group: "lab", cluster: "lab", nodes: 1, gpus: 2, healthy: 2, total: 384, used: 192, utilization: 0.25, temperature: 40, power: 800, limit: 1400},
			{
				group: "prod", cluster: "prod", nodes: 4, gpus: 6, healthy: 4, throttled: 1, failed: 1, total: 360, used: 131, utilization: 2.47 / 5,
				temperature: 248.0 / 5, power: 1840, limit: 3500, processes: 2,
			},
		}},
		{"node", Scope{Cluster: "prod"}, ByNode, []row{
			{group: "empty", cluster: "prod", node: "empty", nodes: 1, total: -1, used: -1, utilization: -1, temperature: -1, power: -1, limit: -1, processes: -1},
			{
				group: "n1", cluster: "prod", node: "n1", nodes: 1, gpus: 4, healthy: 3, throttled: 1, total: 320, used: 121, utilization: 2.47 / 4, temperature: 52,
				power: 1720, limit: 2800, processes: 2,
			},
			{
				group: "n2", cluster: "prod", node: "n2", nodes: 1, gpus: 2, healthy: 1, failed: 1, total: 40, used: 10, temperature: 40,
				power: 120, limit: 700,
			},
			{group: "unread", cluster: "prod", node: "unread", nodes: 1, total: -1, used: -1, utilization: -1, temperature: -1, power: -1, limit: -1, processes: -1},
		}},
		{"model", Scope{Cluster: "prod"}, ByModel, []row{
			{
				group: "NVIDIA H100 80GB HBM3", cluster: "prod", nodes: 1, gpus: 4, healthy: 3, throttled: 1, total: 320, used: 121, utilization: 2.47 / 4,
				temperature: 52, power: 1720, limit: 2800, processes: 2,
			},
			{
				group: "NVIDIA A100-SXM4-40GB", cluster: "prod", nodes: 1, gpus: 2, healthy: 1, failed: 1, total: 40, used: 10,
				temperature: 40, power: 120, limit: 700,
			},
		}},
		{"namespace", Scope{Cluster: "prod"}, ByNamespace, []row{
			// Two GPUs are held by train and one is used by the other pod. Without a namespace: the throttled GPU, and of the divided one the partitions,
			// which have no power of their own, and the failed one.
			{
				group: "ml", cluster: "prod", namespace: "ml", nodes: 1, gpus: 3, healthy: 3, total: 240, used: 81, utilization: 1.47 / 3, temperature: 40,
				power: 1020, limit: 2100, processes: 2,
			},
			{nodes: 2, gpus: 4, healthy: 2, throttled: 1, failed: 1, total: 120, used: 50, utilization: 1.0 / 3, temperature: 88, power: 700, limit: 700},
		}},
		{"workload", Scope{Cluster: "prod", Node: "n1"}, ByWorkload, []row{
			{
				group: train, cluster: "prod", namespace: "ml", kind: "StatefulSet", nodes: 1, gpus: 2, healthy: 2, total: 160, used: 61,
				utilization: 0.97 / 2, temperature: 40, power: 720, limit: 1400, processes: 1,
			},
			{
				group: script, cluster: "prod", namespace: "ml", kind: "Pod", nodes: 1, gpus: 1, healthy: 1, total: 80, used: 20,
				utilization: 0.5, temperature: 40, power: 300, limit: 700, processes: 1,
			},
			{nodes: 1, gpus: 1, throttled: 1, total: 80, used: 40, utilization: 1, temperature: 88, power: 700, limit: 700},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := Select(viewtest.Snapshot(), test.scope)
			require.NoError(t, err)
			got := Summarize(test.scope, nodes, test.grouping)
			require.Len(t, got, len(test.want))
			for i := range got {
				row := rowOf(&got[i])
				assert.InDelta(t, test.want[i].utilization, row.utilization, 1e-9)
				row.utilization = test.want[i].utilization
				assert.Equal(t, test.want[i], row)
				if got[i].Memory.Total != nil {
					assert.InDelta(t, *got[i].Memory.Used / *got[i].Memory.Total, *got[i].MemoryUtilization, 1e-9)
				}
				assert.Equal(t, string(test.grouping), text(got[i].By))
			}
		})
	}
}

// A share of memory counts the GPUs that have both total and use.
func TestSummarizeMemoryOfWhichHalfIsKnown(t *testing.T) {
	s := viewtest.Snapshot()
	n := *s.Nodes[1]
	first, second := *n.GPUs[0], *n.GPUs[1]
	second.Memory.Used, second.Memory.Utilization = nil, nil
	n.GPUs = []*view.GPU{&first, &second}
	sum := Summarize(Scope{}, []*view.Node{&n}, ByNothing)[0]
	assert.InDelta(t, 384*gib, *sum.Memory.Total, 0)
	assert.InDelta(t, 96*gib, *sum.Memory.Used, 0)
	assert.InDelta(t, 0.5, *sum.MemoryUtilization, 0)
}

// A process that uses two GPUs is one; two of one number on two nodes are two.
func TestSummarizeProcesses(t *testing.T) {
	s := viewtest.Snapshot()
	for _, n := range s.Nodes[3:5] {
		for _, g := range n.GPUs {
			g.Processes = []*view.Process{{PID: 7}}
		}
	}
	assert.Equal(t, 2, *Summarize(Scope{}, s.Nodes[3:5], ByNothing)[0].Processes)
}

// A partition whose package is not shown counts itself.
func TestSummarizePartitionWithoutPackage(t *testing.T) {
	s := viewtest.Snapshot()
	n := *s.Nodes[4]
	n.GPUs = n.GPUs[1:3]
	sum := Summarize(Scope{}, []*view.Node{&n}, ByNothing)[0]
	assert.Equal(t, 2, sum.GPUs)
	assert.Equal(t, 2, sum.Unknown)
	assert.InDelta(t, 40*gib, *sum.Memory.Total, 0)
}

func TestSummaryCountsNodesThatCannotBeReadOrAreSilent(t *testing.T) {
	s := viewtest.Snapshot()
	all := Summarize(Scope{}, s.Nodes, ByNothing)[0]
	assert.Equal(t, 1, all.UnreadableNodes, "prod/unread")
	assert.Equal(t, 1, all.StaleNodes, "workstation")
	for _, one := range Summarize(Scope{}, s.Nodes, ByNode) {
		assert.Equal(t, text(one.Group) == "unread", one.UnreadableNodes == 1, text(one.Group))
		assert.Equal(t, text(one.Group) == "workstation", one.StaleNodes == 1, text(one.Group))
	}
}

// Each GPU is counted once: a silent one is stale whatever it was, a divided one is throttled if a partition is.
func TestHealth(t *testing.T) {
	gpu := func(status string, change func(*view.GPU)) *view.GPU {
		g := &view.GPU{ID: status, Status: &status}
		change(g)
		return g
	}
	as := func(*view.GPU) {}
	throttled := func(reason string) func(*view.GPU) { return func(g *view.GPU) { g.Throttled = []string{reason} } }
	stale := func(g *view.GPU) { g.Stale = true }
	whole := gpu("ok", func(g *view.GPU) { g.ID = "whole" })
	part := gpu("ok", throttled("thermal_gpu"))
	part.Parent = &whole.ID
	n := &view.Node{GPUs: []*view.GPU{
		gpu("ok", as), gpu("ok", throttled("sw_power_cap")), gpu("ok", throttled("hw_power_brake_slowdown")), gpu("ok", stale), gpu("failed", stale), gpu("failed", as),
		gpu("degraded", throttled("hw_thermal_slowdown")), gpu("predicted_failure", as), gpu("unheard_of", as), gpu("", func(g *view.GPU) { g.Status = nil }), whole, part,
	}}
	s := Summarize(Scope{}, []*view.Node{n}, ByNothing)[0]
	assert.Equal(t, []int{11, 2, 2, 1, 1, 1, 2, 2}, []int{s.GPUs, s.Healthy, s.Throttled, s.Degraded, s.PredictedFailure, s.Failed, s.Unknown, s.Stale})
}
