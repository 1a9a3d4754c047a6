// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/test/histories"
)

// life is what a simulated GPU and its partitions do.
type life struct {
	id, node, model string
	partitions      []partition
	pods            []map[string]*part // of the GPU and of each partition, by pod
	known           bool               // the holders are known
}

// partition has a part of the GPU.
type partition struct {
	profile string
	size    float64
}

// part is what a pod has of a device.
type part struct {
	since  int64
	share  float64 // 0: it shares equally
	idle   float64
	energy float64
	unread bool // its use is unknown
}

func newLife(id string) *life {
	return &life{id: id, node: "node-a", model: "NVIDIA H100 80GB HBM3", known: true, pods: []map[string]*part{{}}}
}

// layouts are the partitions that a GPU can have, by model.
var layouts = map[string][][]partition{
	"NVIDIA H100 80GB HBM3": {
		nil, {{"1g.10gb", 1.0 / 7}, {"1g.10gb", 1.0 / 7}, {"3g.40gb", 3.0 / 7}}, {{"1c.3g.40gb", 1.0 / 7}, {"2c.3g.40gb", 2.0 / 7}, {"4g.40gb", 4.0 / 7}}, {{"7g.80gb", 1}},
	},
	"NVIDIA A30":          {nil, {{"1g.6gb", 1.0 / 4}, {"2g.12gb", 2.0 / 4}}},
	"AMD Instinct MI300X": {nil, {{"DPX", 1.0 / 2}, {"DPX", 1.0 / 2}}},
}

func (l *life) devices() []string {
	devices := []string{l.id}
	for i := range l.partitions {
		devices = append(devices, fmt.Sprintf("MIG-%s-%d", l.id, i))
	}
	return devices
}

// metrics returns what the receiver sends of a read.
func (l *life) metrics(now int64) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	point := func(resource map[string]any, name string, value float64, start int64, attributes map[string]any) {
		r := metrics.ResourceMetrics().AppendEmpty()
		_ = r.Resource().Attributes().FromRaw(resource)
		m := r.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName(name)
		p := m.SetEmptySum().DataPoints().AppendEmpty()
		_ = p.Attributes().FromRaw(attributes)
		p.SetTimestamp(pcommon.Timestamp(now * 1e9))
		p.SetStartTimestamp(pcommon.Timestamp(start * 1e9))
		p.SetDoubleValue(value)
	}
	for i, id := range l.devices() {
		own := map[string]any{"hw.id": id, "hw.model": l.model}
		if i > 0 {
			profile := l.partitions[i-1].profile
			own["hw.parent"], own["hw.gpu.partition.profile"] = l.id, profile
			if profile != "DPX" { // as NVML says it
				own["hw.model"] = l.model + " MIG " + profile
			}
		}
		node := map[string]any{"k8s.node.name": l.node}
		point(node, "hw.gpu.info", 1, 0, own)
		if !l.known {
			continue
		}
		allocated := 0.0
		for pod, g := range l.pods[i] {
			allocated = 1
			resource := map[string]any{
				"k8s.node.name": l.node, "k8s.namespace.name": "team", "k8s.pod.name": pod, "k8s.pod.uid": pod, "k8s.container.name": "main",
				"k8s.workload.kind": "Job", "k8s.workload.name": "train", "k8s.pod.label.cost-center": "vision",
			}
			attributes := map[string]any{"hw.id": id}
			point(resource, "container.gpu.allocated", 1, 0, attributes)
			if g.share > 0 {
				point(resource, "container.gpu.share", g.share, 0, attributes)
			}
			if !g.unread {
				point(resource, "container.gpu.idle.time", g.idle, g.since, attributes)
				point(resource, "container.gpu.energy", g.energy, g.since, attributes)
			}
		}
		point(node, "hw.gpu.allocated", allocated, 0, own)
	}
	return metrics
}

// held returns what each pod holds of the GPU, by device and pod.
func (l *life) held() map[string]float64 {
	held := map[string]float64{}
	for i, id := range l.devices() {
		size := 1.0
		if i > 0 {
			size = l.partitions[i-1].size
		} else {
			for _, p := range l.partitions {
				size -= p.size
			}
		}
		fractions, others := 0.0, 0.0
		for _, g := range l.pods[i] {
			fractions += g.share
			if g.share == 0 {
				others++
			}
		}
		for pod, g := range l.pods[i] {
			if held[id+" "+pod] = size * g.share / max(fractions, 1); g.share == 0 {
				held[id+" "+pod] = size * max(1-fractions, 0) / others
			}
		}
	}
	return held
}

// pass lets time pass, in which the pods use the GPU.
func (l *life) pass(random *rand.Rand, seconds int64) {
	for _, pods := range l.pods {
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			pods[name].idle += float64(seconds) * random.Float64()
			pods[name].energy += float64(seconds) * 300 * random.Float64()
		}
	}
}

// divide gives the GPU other partitions. Its pods have ended.
func (l *life) divide(partitions []partition) string {
	l.partitions, l.pods = partitions, nil
	for range l.devices() {
		l.pods = append(l.pods, map[string]*part{})
	}
	return fmt.Sprint(l.id, partitions)
}

// steps are what can happen to the GPU and its pods.
func (l *life) steps(random *rand.Rand, now int64) []histories.Step {
	device := random.IntN(len(l.pods))
	pods := l.pods[device]
	onPod := func(do func(name string)) func() string {
		return func() string {
			if len(pods) == 0 {
				return "none"
			}
			name := histories.OneOf(random, slices.Sorted(maps.Keys(pods))...)
			do(name)
			return fmt.Sprint(l.devices()[device], " ", name)
		}
	}
	return []histories.Step{
		{Name: "a pod starts", Weight: 8, Do: func() string {
			g := &part{since: now}
			if random.IntN(2) == 0 {
				g.share = 0.1 + 0.9*random.Float64()
			}
			name := fmt.Sprintf("pod-%d", random.IntN(1e6))
			pods[name] = g
			return fmt.Sprint(l.devices()[device], " ", name, " ", g.share)
		}},
		{Name: "a pod ends", Weight: 6, Do: onPod(func(name string) { delete(pods, name) })},
		{Name: "the counters of a pod begin again", Weight: 1, Do: onPod(func(name string) { pods[name].since, pods[name].idle, pods[name].energy = now, 0, 0 })},
		{Name: "the use of a pod is unknown, or known again", Weight: 1, Do: onPod(func(name string) { pods[name].unread = !pods[name].unread })},
		{Name: "the holders are unknown, or known again", Weight: 1, Do: func() string { l.known = !l.known; return l.id }},
		{Name: "the partitions change", Weight: 1, Do: func() string { return l.divide(histories.OneOf(random, layouts[l.model]...)) }},
	}
}
