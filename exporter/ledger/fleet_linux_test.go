// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// The fleet: a pod has one GPU for 10 to 20 minutes and 15 on average, and the GPU has the next pod a minute later, so 500 pods start in a minute.
const (
	fleetNodes     = 1_000
	gpusOfNode     = 8
	fleetInterval  = 30
	podsOfWorkload = 10
)

// fleetGPU is a GPU of the fleet, with its pod while there is one.
type fleetGPU struct {
	id           string
	pod          int // its number; 0: none
	start, until int64
	idle, energy float64
}

type fleet struct {
	random *rand.Rand
	gpus   []*fleetGPU
	pods   int
}

func newFleet(start int64) *fleet {
	f := &fleet{random: rand.New(rand.NewPCG(1, 2))}
	for n := range fleetNodes * gpusOfNode {
		f.gpus = append(f.gpus, &fleetGPU{id: "GPU-" + identifier("gpu", strconv.Itoa(n)), start: start})
	}
	return f
}

// resource returns the attributes of a pod.
func (g *fleetGPU) resource(node int) map[string]any {
	workload := g.pod / podsOfWorkload
	return map[string]any{
		"k8s.cluster.name": "fleet", "k8s.node.name": fmt.Sprintf("node-%04d", node), "k8s.namespace.name": fmt.Sprintf("team-%02d", workload%40),
		"k8s.pod.name": fmt.Sprintf("train-%d-%05x", workload, g.pod), "k8s.pod.uid": identifier("pod", strconv.Itoa(g.pod)), "k8s.container.name": "main",
		"k8s.workload.kind": "Job", "k8s.workload.name": fmt.Sprintf("train-%d", workload), "k8s.workload.uid": identifier("job", strconv.Itoa(workload)),
		"k8s.pod.label.team": fmt.Sprintf("team-%02d", workload%40),
	}
}

// step lets an interval pass, and returns the records of pods that started and ended.
func (f *fleet) step(now int64) plog.Logs {
	logs := plog.NewLogs()
	for n, g := range f.gpus {
		if g.pod > 0 {
			use := f.random.Float64()
			g.idle, g.energy = g.idle+fleetInterval*(1-use), g.energy+fleetInterval*(100+600*use)
		}
		switch {
		case g.pod > 0 && now >= g.until:
			f.records(logs, g, n/gpusOfNode, now, "container.gpu.released", "k8s.pod.gpu.finished", "k8s.pod.gpu.deleted")
			g.pod, g.start = 0, now+60
		case g.pod == 0 && now >= g.start:
			life := 600 + f.random.Int64N(600)
			if g.until == 0 { // the first pods, so that they do not all end at the same time
				life = f.random.Int64N(900)
			}
			f.pods++
			g.pod, g.start, g.until, g.idle, g.energy = f.pods, now, now+life, 0, 0
			f.records(logs, g, n/gpusOfNode, now, "k8s.pod.gpu.created", "k8s.pod.gpu.scheduled", "k8s.pod.gpu.phase", "container.gpu.allocated")
		}
	}
	return logs
}

func (f *fleet) records(logs plog.Logs, g *fleetGPU, node int, now int64, events ...string) {
	for _, name := range events {
		r := logs.ResourceLogs().AppendEmpty()
		_ = r.Resource().Attributes().FromRaw(g.resource(node))
		record := r.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		record.SetEventName(name)
		record.SetTimestamp(pcommon.Timestamp(now * 1e9))
		record.Body().SetStr("Pod team/train: " + name)
		_ = record.Attributes().FromRaw(map[string]any{
			"log.record.uid": identifier(name, strconv.Itoa(g.pod)), "k8s.pod.status.phase": "Running", "hw.id": g.id, "hw.gpu.use.count": 1,
			"hw.gpu.use.start_time": time.Unix(g.start, 0).UTC().Format(time.RFC3339), "k8s.resource.name": "nvidia.com/gpu",
		})
	}
}

// metrics returns what the agent of a node sends, without the metrics that the ledger does not read.
func (f *fleet) metrics(node int, now int64) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	point := func(scope pmetric.ScopeMetrics, name string, value float64, start int64) pcommon.Map {
		m := scope.Metrics().AppendEmpty()
		m.SetName(name)
		p := m.SetEmptySum().DataPoints().AppendEmpty()
		p.SetTimestamp(pcommon.Timestamp(now * 1e9))
		p.SetStartTimestamp(pcommon.Timestamp(start * 1e9))
		p.SetDoubleValue(value)
		return p.Attributes()
	}
	r := metrics.ResourceMetrics().AppendEmpty()
	_ = r.Resource().Attributes().FromRaw(map[string]any{"k8s.cluster.name": "fleet", "k8s.node.name": fmt.Sprintf("node-%04d", node), "host.name": fmt.Sprintf("node-%04d", node)})
	scope := r.ScopeMetrics().AppendEmpty()
	for i, g := range f.gpus[node*gpusOfNode : (node+1)*gpusOfNode] {
		allocated := 0.0
		if g.pod > 0 {
			allocated = 1
			r := metrics.ResourceMetrics().AppendEmpty()
			_ = r.Resource().Attributes().FromRaw(g.resource(node))
			scope := r.ScopeMetrics().AppendEmpty()
			for name, value := range map[string]float64{
				"container.gpu.allocated": 1, "container.gpu.share": 1, "container.gpu.idle.time": g.idle, "container.gpu.energy": g.energy, "container.gpu.memory.usage": 6e10,
			} {
				point(scope, name, value, g.start).PutStr("hw.id", g.id)
			}
		}
		for name, value := range map[string]float64{"hw.gpu.info": 1, "hw.gpu.allocated": allocated} {
			_ = point(scope, name, value, 0).FromRaw(map[string]any{"hw.id": g.id, "hw.name": strconv.Itoa(i), "hw.vendor": "NVIDIA", "hw.model": "NVIDIA H100 80GB HBM3"})
		}
	}
	return metrics
}
