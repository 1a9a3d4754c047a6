// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// byHand is one point of each metric, worked out by hand from fullNode: its kind, its unit, and its value in that unit.
var byHand = []struct {
	metric     string
	attributes map[string]any // what tells the point from the metric's others
	kind, unit string
	value      float64
}{
	{"container.gpu.allocated", of("hw.id", gpuID, "k8s.pod.name", "train-0", "hw.gpu.sharing", "mps", "hw.gpu.allocator", "dra"), "updowncounter", "{gpu}", 1},
	{"container.gpu.energy", of("hw.id", gpuID, "k8s.container.name", "trainer"), "counter", "J", 7001.25},
	{"container.gpu.idle.time", of("hw.id", gpuID, "k8s.namespace.name", "research"), "counter", "s", 12.5},
	{"container.gpu.memory.limit", of("hw.id", gpuID), "updowncounter", "By", 85899345921},
	{"container.gpu.memory.usage", of("hw.id", migID, "container.id", "cafe02"), "updowncounter", "By", 881},
	{"container.gpu.power", of("hw.id", amdID, "slurm.job.id", "8123"), "gauge", "W", 71.5},
	{"container.gpu.utilization", of("hw.id", gpuID, "hw.gpu.task", "decoder"), "gauge", "1", 0.06},
	{"hw.energy", of("hw.id", gpuID), "counter", "J", 123456.789},
	{"hw.errors", of("hw.id", gpuID, "error.type", "xid", "hw.gpu.xid", int64(79)), "counter", "{error}", 305},
	{"hw.errors", of("hw.id", gpuID, "error.type", "pcie_replay"), "counter", "{error}", 303},
	{"hw.errors", of("hw.id", amdID, "error.type", "deferred", "hw.gpu.error.block", "umc"), "counter", "{error}", 423},
	{"hw.fan.speed_ratio", of("hw.id", gpuID, "hw.sensor_location", "fan1"), "gauge", "1", 0.61},
	{"hw.gpu.allocated", of("hw.id", migID), "updowncounter", "1", 0},
	{"hw.gpu.count", of("hw.gpu.presence", "missing", "k8s.node.name", "node-a", "k8s.cluster.name", "prod"), "updowncounter", "{gpu}", 3},
	{"hw.gpu.ecc.lifetime", of("hw.id", gpuID, "error.type", "uncorrected"), "counter", "{error}", 307},
	{"hw.gpu.fault", of("hw.id", gpuID, "error.type", "drain"), "updowncounter", "1", 1},
	{"hw.gpu.info", of("hw.id", gpuID, "hw.gpu.numa.node", int64(1), "hw.serial_number", "1650123000001"), "updowncounter", "1", 1},
	{"hw.gpu.info", of("hw.parent", gpuID, "hw.gpu.partition.profile", "3g.40gb"), "updowncounter", "1", 1},
	{"hw.gpu.interconnect.io", of("hw.id", gpuID, "hw.gpu.interconnect.type", "nvlink", "network.io.direction", "receive"), "counter", "By", 6000000002},
	{"hw.gpu.interconnect.io", of("hw.id", amdID, "hw.gpu.interconnect.type", "xgmi", "network.io.direction", "transmit"), "counter", "By", 411},
	{"hw.gpu.interconnect.link.errors", of("hw.id", gpuID, "hw.gpu.interconnect.link", "11", "error.type", "recovery"), "counter", "{error}", 205},
	{"hw.gpu.interconnect.link.io", of("hw.id", gpuID, "hw.gpu.interconnect.link", "0", "network.io.direction", "transmit"), "counter", "By", 101},
	{"hw.gpu.io", of("hw.id", gpuID, "network.io.direction", "transmit"), "counter", "By", 912345678901},
	{"hw.gpu.memory.controller.utilization", of("hw.id", gpuID), "gauge", "1", 0.41},
	{"hw.gpu.memory.limit", of("hw.id", gpuID), "updowncounter", "By", 85899345920},
	{"hw.gpu.memory.pages.retired", of("hw.id", amdID, "error.type", "uncorrected"), "counter", "{page}", 432},
	{"hw.gpu.memory.protected.usage", of("hw.id", gpuID), "updowncounter", "By", 4194304},
	{"hw.gpu.memory.remap.state", of("hw.id", gpuID, "hw.gpu.remap.state", "pending"), "updowncounter", "1", 1},
	{"hw.gpu.memory.remap.state", of("hw.id", gpuID, "hw.gpu.remap.state", "failed"), "updowncounter", "1", 0},
	{"hw.gpu.memory.reserved", of("hw.id", gpuID), "updowncounter", "By", 701497344},
	{"hw.gpu.memory.rows.remapped", of("hw.id", gpuID, "error.type", "corrected"), "counter", "{row}", 311},
	{"hw.gpu.memory.system.limit", of("hw.id", amdID), "updowncounter", "By", 403},
	{"hw.gpu.memory.system.usage", of("hw.id", amdID), "updowncounter", "By", 404},
	{"hw.gpu.memory.usage", of("hw.id", gpuID), "updowncounter", "By", 21474836480},
	{"hw.gpu.memory.utilization", of("hw.id", gpuID), "gauge", "1", 0.25}, // 20 of 80 GiB
	{"hw.gpu.memory.utilization", of("hw.id", migID), "gauge", "1", 0.025},
	{"hw.gpu.memory.visible.limit", of("hw.id", amdID), "updowncounter", "By", 401},
	{"hw.gpu.memory.visible.usage", of("hw.id", amdID), "updowncounter", "By", 402},
	{"hw.gpu.module.power", of("hw.id", gpuID), "gauge", "W", 910.75},
	{"hw.gpu.pcie.generation", of("hw.id", gpuID), "gauge", "{generation}", 4},
	{"hw.gpu.pcie.generation.limit", of("hw.id", gpuID), "gauge", "{generation}", 5},
	{"hw.gpu.pcie.width", of("hw.id", gpuID), "gauge", "{lane}", 8},
	{"hw.gpu.pcie.width.limit", of("hw.id", gpuID), "gauge", "{lane}", 16},
	{"hw.gpu.performance_state", of("hw.id", gpuID), "gauge", "{state}", 2},
	{"hw.gpu.pipe.utilization", of("hw.id", gpuID, "hw.gpu.pipe", "tensor"), "gauge", "1", 0.051},
	{"hw.gpu.power.instant", of("hw.id", gpuID), "gauge", "W", 640.5},
	{"hw.gpu.recovery.action", of("hw.id", gpuID, "hw.gpu.recovery.action", "drain_and_reset"), "updowncounter", "1", 1},
	{"hw.gpu.sm.occupancy", of("hw.id", gpuID), "gauge", "1", 0.385},
	{"hw.gpu.speed", of("hw.id", gpuID, "hw.gpu.clock_domain", "memory"), "gauge", "Hz", 32e6},
	{"hw.gpu.speed.limit", of("hw.id", gpuID, "hw.gpu.clock_domain", "video", "hw.limit_type", "max"), "gauge", "Hz", 35e6},
	{"hw.gpu.temperature.margin", of("hw.id", gpuID, "hw.limit_type", "high.critical"), "gauge", "Cel", 23.5},
	{"hw.gpu.throttle.time", of("hw.id", gpuID, "hw.gpu.throttle.reason", "hw_thermal_slowdown"), "counter", "s", 40.25},
	{"hw.gpu.throttled", of("hw.id", gpuID, "hw.gpu.throttle.reason", "sync_boost"), "updowncounter", "1", 1},
	{"hw.gpu.throttled", of("hw.id", gpuID, "hw.gpu.throttle.reason", "hw_slowdown"), "updowncounter", "1", 0},
	{"hw.gpu.utilization", of("hw.id", gpuID, "hw.gpu.task", "encoder"), "gauge", "1", 0.002},
	{"hw.gpu.utilization", of("hw.id", migID, "hw.gpu.task", "general", "hw.parent", gpuID), "gauge", "1", 0.71},
	{"hw.power", of("hw.id", gpuID), "gauge", "W", 612.25},
	{"hw.power.limit", of("hw.id", gpuID, "hw.limit_type", "max"), "gauge", "W", 27.5},
	{"hw.status", of("hw.id", gpuID, "hw.state", "degraded"), "updowncounter", "1", 1},
	{"hw.status", of("hw.id", gpuID, "hw.state", "ok"), "updowncounter", "1", 0},
	{"hw.temperature", of("hw.id", gpuID, "hw.sensor_location", "hotspot"), "gauge", "Cel", 14.5},
	{"hw.temperature.limit", of("hw.id", gpuID, "hw.sensor_location", "memory", "hw.limit_type", "high.critical"), "gauge", "Cel", 12.5},
	{"process.gpu.memory.usage", of("hw.id", gpuID, "process.pid", int64(4711), "process.gpu.type", "compute"), "updowncounter", "By", 9663676416},
	{"process.gpu.utilization", of("hw.id", gpuID, "process.pid", int64(4711), "hw.gpu.task", "jpeg"), "gauge", "1", 0.04},
}

// of is attributes by name.
func of(pairs ...any) map[string]any {
	attributes := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		attributes[pairs[i].(string)] = pairs[i+1]
	}
	return attributes
}

func TestValuesByHand(t *testing.T) {
	points := recordAll(fullNode())
	var covered []string
	for _, want := range byHand {
		covered = append(covered, want.metric)
		var found []otlptest.Point
		for _, p := range otlptest.Of(points, want.metric) {
			if has(p.Attributes, want.attributes) {
				found = append(found, p)
			}
		}
		if !assert.Len(t, found, 1, "%s %v", want.metric, want.attributes) {
			continue
		}
		assert.Equal(t, want.kind, found[0].Kind, want.metric)
		assert.Equal(t, want.unit, found[0].Unit, want.metric)
		assert.InDelta(t, want.value, found[0].Value, 1e-9, want.metric)
	}
	for _, metric := range metricNames() {
		if !notOfANode(metric) {
			assert.Contains(t, covered, metric)
		}
	}
}

func has(attributes, want map[string]any) bool {
	for name, value := range want {
		if attributes[name] != value {
			return false
		}
	}
	return true
}

// Every point of a device says which it is, what it is called, and of which it is a part.
func TestIdentityOnEveryPoint(t *testing.T) {
	points := recordAll(fullNode())
	want := map[string]map[string]any{
		gpuID: of("hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3", "hw.vendor", "NVIDIA"),
		migID: of("hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "hw.vendor", "NVIDIA", "hw.parent", gpuID),
		amdID: of("hw.name", "card1", "hw.model", "AMD Instinct MI300X", "hw.vendor", "AMD"),
	}
	n := 0
	for _, p := range points {
		if p.Resource["process.pid"] != nil || p.Metric[:3] != "hw." || p.Metric == "hw.gpu.count" {
			continue
		}
		n++
		id, ok := p.Attributes["hw.id"].(string)
		require.True(t, ok, p.Series())
		require.Contains(t, want, id)
		assert.True(t, has(p.Attributes, want[id]), p.Series())
		assert.Equal(t, id == migID, p.Attributes["hw.parent"] != nil, p.Series())
	}
	assert.Greater(t, n, 100)
}

// The resources of a node: the host, one for each process, and one for each container.
func TestResources(t *testing.T) {
	metrics := newRecorder(everything()).Record(fullNode())
	var resources []map[string]any
	for _, rm := range metrics.ResourceMetrics().All() {
		resources = append(resources, rm.Resource().Attributes().AsRaw())
		assert.Equal(t, "https://opentelemetry.io/schemas/1.43.0", rm.SchemaUrl())
	}
	host := of("host.name", "node-a", "k8s.node.name", "node-a", "k8s.cluster.name", "prod")
	assert.Equal(t, with(host, "k8s.node.label.pool", "gpu"), resources[0])
	pids := map[any]int{}
	containers := 0
	for _, resource := range resources[1:] {
		assert.True(t, has(resource, host), "%v", resource)
		if pid, ok := resource["process.pid"]; ok {
			pids[pid]++
		} else {
			containers++
		}
	}
	assert.Equal(t, map[any]int{int64(99): 1, int64(4711): 1, int64(4712): 1}, pids)
	assert.Equal(t, 3, containers)

	trained := resources[slices.IndexFunc(resources, func(r map[string]any) bool { return r["process.pid"] == int64(4711) })]
	pod := of("container.id", "cafe01", "k8s.namespace.name", "research", "k8s.pod.name", "train-0", "k8s.pod.uid", "0a1b2c3d",
		"k8s.container.name", "trainer", "k8s.replicaset.name", "train-6b", "k8s.replicaset.uid", "rs-1",
		"k8s.deployment.name", "train", "k8s.deployment.uid", "de-1", "k8s.workload.kind", "Deployment", "k8s.workload.name", "train",
		"k8s.pod.label.team", "vision")
	assert.Equal(t, join(host, pod, of("process.pid", int64(4711), "process.creation.time", "2026-01-02T01:34:05Z",
		"process.executable.name", "python3", "process.command", "/usr/bin/python3", "process.command_line", "/usr/bin/python3 train.py",
		"process.owner", "alice")), trained)
	container := resources[slices.IndexFunc(resources, func(r map[string]any) bool {
		return r["process.pid"] == nil && r["k8s.pod.name"] == "train-0"
	})]
	assert.Equal(t, join(host, pod), container)
}

func with(attributes map[string]any, name string, value any) map[string]any {
	return join(attributes, of(name, value))
}

func join(all ...map[string]any) map[string]any {
	joined := map[string]any{}
	for _, attributes := range all {
		maps.Copy(joined, attributes)
	}
	return joined
}

// A node without a Kubernetes name is told apart by its host's; with one the host's is not repeated on the points.
func TestNodeOnItsPoints(t *testing.T) {
	node := fullNode()
	for _, p := range otlptest.Of(recordAll(node), "hw.gpu.count") {
		assert.Equal(t, "node-a", p.Attributes["k8s.node.name"])
		assert.NotContains(t, p.Attributes, "host.name")
	}
	node.Host.NodeName, node.Host.ClusterName = "", ""
	counts := otlptest.Of(recordAll(node), "hw.gpu.count")
	require.NotEmpty(t, counts)
	for _, p := range counts {
		assert.Equal(t, "node-a", p.Attributes["host.name"])
		assert.NotContains(t, p.Attributes, "k8s.node.name")
		assert.NotContains(t, p.Attributes, "k8s.cluster.name")
	}
}
