// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// requireDocument compares an answer with a document that was written by hand.
func requireDocument(t *testing.T, file string, answer any) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	requireJSON(t, string(want), answer)
}

func requireJSON(t *testing.T, want string, answer any) {
	t.Helper()
	got, err := json.Marshal(answer)
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))
}

// node returns a node of the sample fleet, which the test may change.
func node(t *testing.T, cluster, name string) *view.Node {
	t.Helper()
	for _, n := range viewtest.Snapshot().Nodes {
		if n.Name == name && (n.Cluster == nil && cluster == "" || n.Cluster != nil && *n.Cluster == cluster) {
			return n
		}
	}
	require.FailNow(t, "no such node", "%s/%s", cluster, name)
	return nil
}

func TestFormANodes(t *testing.T) {
	nodes := []NodeA{}
	for _, n := range viewtest.Snapshot().Nodes {
		nodes = append(nodes, FromNodeA(n))
	}
	requireDocument(t, "form_a_nodes.json", nodes)
}

func TestFormAProcess(t *testing.T) {
	n := node(t, "prod", "n1")
	n.GPUs[0].Processes[0].EncoderUtilization = new(0.125)
	requireJSON(t, `{"pid": 4242, "gpu_index": 0, "process_type": "compute", "sm_utilization": 97, "sm_utilization_exact": 97, "memory_utilization": 49,
		"memory_utilization_exact": 48.5, "encoder_utilization": 13, "encoder_utilization_exact": 12.5, "decoder_utilization": null,
		"decoder_utilization_exact": null, "fb_memory_mb": 61440, "command": "python3", "node_name": "n1", "cluster_id": "prod"}`,
		FromProcessA(n.GPUs[0].Processes[0], n.GPUs[0].Index))
	requireJSON(t, `{"pid": 7, "gpu_index": null, "process_type": "unknown", "sm_utilization": null, "sm_utilization_exact": null,
		"memory_utilization": null, "memory_utilization_exact": null, "encoder_utilization": null, "encoder_utilization_exact": null,
		"decoder_utilization": null, "decoder_utilization_exact": null, "fb_memory_mb": null, "command": null, "node_name": "here", "cluster_id": null}`,
		FromProcessA(&view.Process{PID: 7, Node: "here"}, nil))
	for input, want := range map[string]string{
		"compute": "compute", "graphics": "graphics", "mps": "compute", "compute_graphics": "compute", "something": "unknown",
	} {
		assert.Equal(t, want, FromProcessA(&view.Process{Type: &input}, nil).Type, input)
	}
	assert.Equal(t, "train", *FromProcessA(&view.Process{Command: new("train"), CommandLine: new("train --secret")}, nil).Command)
}

func TestFormASummary(t *testing.T) {
	requireJSON(t, `{"cluster_id": "prod", "node_count": 2, "gpu_count": 6, "total_memory_mb": 368640, "used_memory_mb": 134144,
		"memory_utilization_percent": 36.39, "average_gpu_utilization_percent": 41.17, "average_temperature_celsius": 49.6}`,
		FromSummaryA(&view.Summary{
			Cluster: new("prod"), Nodes: 2, GPUs: 6, Memory: view.Memory{Total: new(360.0 * (1 << 30)), Used: new(131.0 * (1 << 30))},
			MemoryUtilization: new(131.0 / 360), Utilization: new(2.47 / 6), Temperature: new(49.6),
		}))
	requireJSON(t, `{"cluster_id": null, "node_count": 0, "gpu_count": 0, "total_memory_mb": null, "used_memory_mb": null,
		"memory_utilization_percent": null, "average_gpu_utilization_percent": null, "average_temperature_celsius": null}`,
		FromSummaryA(&view.Summary{}))
}

func TestFormBMetrics(t *testing.T) {
	requireDocument(t, "form_b_metrics.json", FromNodeB(node(t, "prod", "n1")))
}

// TestFormBFailedGPU shows what was not read as null, and not in the means.
func TestFormBFailedGPU(t *testing.T) {
	n := node(t, "prod", "n2")
	failed := n.GPUs[3]
	failed.Utilization, failed.PerformanceState, failed.Index = view.Utilization{}, nil, nil
	b := FromNodeB(n)
	require.Len(t, b.GPUs, 2)
	requireJSON(t, `{"gpu_id": null, "gpu_name": "NVIDIA A100-SXM4-40GB", "gpu_uuid": "GPU-n2-1", "driver_version": "550.54.15",
		"utilization": {"gpu_percent": null, "memory_percent": null, "encoder_percent": null, "decoder_percent": null},
		"memory": {"total_mb": null, "used_mb": null, "free_mb": null, "utilization_percent": null},
		"temperature": {"current_celsius": null, "slowdown_threshold_celsius": null, "shutdown_threshold_celsius": null},
		"power": {"power_draw_watts": null, "power_limit_watts": null, "power_usage_percent": null},
		"clocks": {"graphics_clock_mhz": null, "sm_clock_mhz": null, "memory_clock_mhz": null},
		"processes": [], "performance_state": null, "fan_speed_percent": null}`, b.GPUs[1])
	assert.InDelta(t, 40, *b.Temperature, 0, "the mean of those that have a value")
	assert.InDelta(t, 120, *b.Power, 0)
	assert.Nil(t, b.MemoryUtilization)
}

// TestDividedGPU shows a divided GPU as one, with the processes and the mean utilization of its partitions.
func TestDividedGPU(t *testing.T) {
	n := node(t, "prod", "n2")
	n.GPUs[1].Utilization.General, n.GPUs[2].Utilization.General = new(0.5), new(0.25)
	n.GPUs[2].Processes = []*view.Process{{PID: 9, GPU: n.GPUs[2].ID, GPUIndex: new(1), Name: new("infer"), Memory: new(1.0 * (1 << 30))}}
	n.GPUs = append(n.GPUs, &view.GPU{ID: "MIG-lost", Parent: new("GPU-gone")})
	b := FromNodeB(n)
	require.Len(t, b.GPUs, 2)
	assert.InDelta(t, 37.5, *b.GPUs[0].Utilization.GPU, 0)
	assert.Equal(t, []ProcessB{{PID: 9, Name: new("infer"), Memory: new(int64(1024))}}, b.GPUs[0].Processes)
	assert.Equal(t, int64(38), *FromNodeA(n).GPUs[0].UtilizationGPU)
	assert.InDelta(t, 37.5, *FromNodeA(n).GPUs[0].UtilizationGPUExact, 0)
	assert.Equal(t, 9, FromNodeA(n).GPUs[0].Processes[0].PID)
	assert.InDelta(t, 37.5, *formC(n).GPUs[0].Utilization, 0)
}

// TestAMD shows what AMD GPUs have otherwise: several sensors and fans, fractions, no performance state, no SM clock.
func TestAMD(t *testing.T) {
	n := node(t, "lab", "n1")
	g := n.GPUs[0]
	g.Temperatures = []view.Temperature{
		{Sensor: "edge", Celsius: new(41.25), Limits: map[string]float64{"high.critical": 100}},
		{Sensor: "hotspot", Celsius: new(56.125), Limits: map[string]float64{"high.degraded": 100, "high.critical": 105}},
		{Sensor: "memory", Celsius: new(70.0), Limits: map[string]float64{"high.critical": 95}},
	}
	g.Fans = []view.Fan{{Sensor: "fan0", Speed: 0.29}, {Sensor: "fan1", Speed: 0.5}}
	g.Clocks = map[string]float64{"graphics": 2.1e9, "memory": 1.3e9}
	g.Power.Watts = new(123.4567)
	b := FromNodeB(n).GPUs[0]
	assert.Equal(t, TemperatureB{Current: new(56.13), Slowdown: new(100.0), Shutdown: new(105.0)}, b.Temperature)
	assert.Equal(t, ClocksB{Graphics: new(int64(2100)), Memory: new(int64(1300))}, b.Clocks)
	assert.Nil(t, b.PerformanceState)
	assert.InDelta(t, 50, *b.FanSpeed, 0)
	assert.InDelta(t, 123.46, *b.Power.Draw, 0)

	g.Temperatures = []view.Temperature{{Sensor: "memory", Celsius: new(70.0)}, {Sensor: "gpu", Limits: map[string]float64{"high.critical": 95}}}
	assert.Equal(t, TemperatureB{Shutdown: new(95.0)}, FromNodeB(n).GPUs[0].Temperature)
}

func formC(nodes ...*view.Node) MetricsC {
	return MetricsC{Timestamp: viewtest.Now, GPUs: slices.Collect(gpusC(nodes))}
}

func TestFormC(t *testing.T) {
	s := viewtest.Snapshot()
	requireDocument(t, "form_c_metrics.json", formC(s.Nodes...))
	one := formC(node(t, "prod", "n1"))
	assert.Equal(t, "gpu-3", one.GPUs[3].ID, "one machine has one GPU of a number")
	unnumbered := node(t, "prod", "n1")
	unnumbered.GPUs[0].Index = nil
	assert.Equal(t, "GPU-n1-0", formC(unnumbered).GPUs[0].ID)
}

func TestUnits(t *testing.T) {
	assert.InDelta(t, 29, *percent(new(0.29)), 0, "a whole number stays one")
	assert.InDelta(t, 33.33, *percent(new(1.0 / 3)), 0)
	assert.Equal(t, int64(1), *mebibytes(new(1.4 * (1 << 20))))
	assert.Equal(t, int64(2), *mebibytes(new(1.5 * (1 << 20))))
	assert.Equal(t, int64(1980), *megahertz(new(1.98e9)))
	assert.Nil(t, percent(nil))
	assert.Nil(t, rounded(nil))
	assert.Nil(t, mebibytes(nil))
	assert.Nil(t, megahertz(nil))
	for _, share := range []float64{0, 1, math.Pi / 100} {
		assert.InDelta(t, share*100, *percent(&share), 0.005)
	}
}
