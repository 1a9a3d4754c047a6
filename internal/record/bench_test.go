// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"testing"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// busyNode returns a node of 8 GPUs, each with the values that a current GPU reports by default, and with 8 processes.
func busyNode() *gpu.Node {
	node := &gpu.Node{Host: gpu.Host{Name: "node-a", NodeName: "node-a", ClusterName: "prod"}, Vendor: gpu.NVIDIA, Time: readAt}
	node.Presence[gpu.Visible], node.Presence[gpu.Missing] = gpu.Some[int64](8), gpu.Some[int64](0)
	for i := range 8 {
		d := fullGPU(nil)
		d.ID = fmt.Sprintf("GPU-%08d-2222-3333-4444-555555555555", i)
		d.Name = fmt.Sprintf("nvidia%d", i)
		d.Info.PCIAddress = fmt.Sprintf("0000:%02x:00.0", i)
		d.Faults, d.Fans, d.HoldersKnown = nil, nil, false
		d.Temperature[gpu.SensorHotspot], d.Temperature[gpu.SensorEdge] = gpu.Opt[float64]{}, gpu.Opt[float64]{}
		clear(d.TemperatureLimit[:])
		clear(d.Throttle[gpu.ThrottlePowerPPT:])
		node.Devices = append(node.Devices, d)
		for j := range 8 {
			p := gpu.Process{
				PID: int64(40000 + i*8 + j), DeviceID: d.ID, Type: gpu.ProcessCompute, Memory: gpu.Some[int64](9 << 30),
				Created: readAt, Executable: "python3", Command: "/usr/bin/python3", Owner: "alice",
			}
			p.Utilization[gpu.TaskGeneral], p.Utilization[gpu.TaskEncoder] = gpu.Some(0.11), gpu.Some(0.01)
			node.Processes = append(node.Processes, p)
		}
	}
	return node
}

// BenchmarkRecord records one read of 8 GPUs with 64 processes with the default configuration.
func BenchmarkRecord(b *testing.B) { benchmarkRecord(b, metadata.NewDefaultMetricsBuilderConfig()) }

// BenchmarkRecordEverything enables all metrics.
func BenchmarkRecordEverything(b *testing.B) { benchmarkRecord(b, everything()) }

// BenchmarkRecordDevices has no metrics of processes. The difference is the cost of their resources.
func BenchmarkRecordDevices(b *testing.B) {
	cfg := metadata.NewDefaultMetricsBuilderConfig()
	cfg.Metrics.ProcessGpuMemoryUsage.Enabled, cfg.Metrics.ProcessGpuUtilization.Enabled = false, false
	benchmarkRecord(b, cfg)
}

func benchmarkRecord(b *testing.B, cfg metadata.MetricsBuilderConfig) {
	b.Helper()
	r := New(cfg, newSettings())
	node := busyNode()
	points := r.Record(node).DataPointCount()
	if points < 300 {
		b.Fatalf("only %d points", points)
	}
	b.ReportAllocs()
	for b.Loop() {
		node.Time = node.Time.Add(time.Second)
		r.Record(node)
	}
	b.ReportMetric(float64(points), "points/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(points), "ns/point")
}
