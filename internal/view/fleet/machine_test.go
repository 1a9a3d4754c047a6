// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/internal/series"
)

// machine is a node that sends what the receiver would send of it: the points, and the ends of points that are no longer there.
type machine struct {
	gpu.Node
	recorder *record.Recorder
	tracker  series.Tracker
}

// newMachine returns a node of NVIDIA GPUs, with processes on each, all of one pod.
func newMachine(name string, gpus, processesPerGPU int) *machine {
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.TelemetrySettings = componenttest.NewNopTelemetrySettings()
	m := &machine{recorder: record.New(metadata.NewDefaultMetricsBuilderConfig(), settings)}
	m.Host = gpu.Host{Name: name, NodeName: name, ClusterName: "prod", Labels: map[string]string{"k8s.node.label.zone": "a"}}
	m.Source, m.Vendor = "nvml", gpu.NVIDIA
	m.Presence[gpu.Visible], m.Presence[gpu.Missing] = gpu.Some(int64(gpus)), gpu.Some[int64](0)
	pod := &gpu.Container{
		Namespace: "team", PodName: "train-" + name, PodUID: "uid-" + name, Name: "main", ID: fmt.Sprintf("%064s", name),
		Owners: []gpu.Owner{{Kind: "Job", Name: "train", UID: "1"}},
	}
	for i := range gpus {
		d := healthy(name, i)
		d.Holders, d.HoldersKnown = []gpu.Holder{{Container: pod, Resource: "nvidia.com/gpu"}}, true
		m.Devices = append(m.Devices, d)
		m.Containers = append(m.Containers, gpu.ContainerUse{
			Container: pod, DeviceID: d.ID, Allocated: gpu.Some(true), Resource: "nvidia.com/gpu", MemoryUsage: gpu.Some[int64](1 << 30),
			MemoryLimit: gpu.Some[int64](80 << 30), Power: gpu.Some(300.0), Energy: gpu.TotalSince(1000.0, start), IdleTime: gpu.TotalSince(0.0, start),
		})
		m.Containers[i].Utilization[gpu.TaskGeneral] = gpu.Some(0.5)
		for j := range processesPerGPU {
			p := gpu.Process{
				PID: int64(1000 + i*processesPerGPU + j), DeviceID: d.ID, Type: gpu.ProcessCompute, Memory: gpu.Some[int64](1 << 30),
				MemoryController: gpu.Some(0.1), Created: start.Add(time.Duration(j) * time.Minute), Executable: "python3", Owner: "alice",
				UserID: gpu.Some[int64](1000), Container: pod,
			}
			p.Utilization[gpu.TaskGeneral] = gpu.Some(0.25)
			m.Processes = append(m.Processes, p)
		}
	}
	return m
}

// healthy returns a GPU with what an H100 reports by default.
func healthy(node string, index int) gpu.Device {
	d := gpu.Device{
		ID: fmt.Sprintf("GPU-%s-%d", node, index), Name: fmt.Sprintf("nvidia%d", index), Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA,
		Index: gpu.Some(index), CurrentIndex: gpu.Some(index),
		Info: gpu.Info{
			Serial: fmt.Sprintf("165012300000%d", index), DriverVersion: "580.65.06", FirmwareVersion: "96.00.89.00.01",
			PCIAddress: fmt.Sprintf("0000:%02x:00.0", index), ComputeCapability: "9.0", NUMANode: gpu.Some[int64](int64(index / 4)),
		},
		MemoryController: gpu.Some(0.41),
		Memory:           gpu.Memory{Limit: gpu.Some[int64](80 << 30), Usage: gpu.Some[int64](8 << 30), Reserved: gpu.Some[int64](1 << 29)},
		Power:            gpu.Power{Draw: gpu.Some(612.25)}, Energy: gpu.Total(123_456.789), PerformanceState: gpu.Some[int64](0),
		PCIe: gpu.PCIe{
			Generation: gpu.Some[int64](5), GenerationLimit: gpu.Some[int64](5), Width: gpu.Some[int64](16), WidthLimit: gpu.Some[int64](16),
			Replays: gpu.Total[int64](3),
		},
		Interconnect: gpu.Interconnect{Type: gpu.NVLink, Transmitted: gpu.Total[int64](5_000_000_001), Received: gpu.Total[int64](6_000_000_002)},
		Errors: []gpu.ErrorCount{
			{Type: gpu.ErrorCorrected, Count: gpu.Total[int64](1)},
			{Type: gpu.ErrorUncorrected, Count: gpu.Total[int64](0)},
		},
		RemappedRows: gpu.RemappedRows{
			Corrected: gpu.Total[int64](0), Uncorrected: gpu.Total[int64](0), Pending: gpu.Some(false), Failed: gpu.Some(false),
		},
		RecoveryAction: gpu.Some(gpu.RecoveryNone),
	}
	for i := range d.Utilization {
		d.Utilization[i] = gpu.Some(0.5)
	}
	for _, sensor := range []gpu.Sensor{gpu.SensorGPU, gpu.SensorMemory} {
		d.Temperature[sensor] = gpu.Some(60.0)
		d.TemperatureLimit[sensor][gpu.LimitMax] = gpu.Some(95.0)
	}
	d.TemperatureLimit[gpu.SensorGPU][gpu.LimitDegraded], d.TemperatureLimit[gpu.SensorGPU][gpu.LimitCritical] = gpu.Some(92.0), gpu.Some(97.0)
	d.TemperatureMargin[gpu.LimitDegraded] = gpu.Some(30.0)
	d.Power.Limit[gpu.LimitEnforced], d.Power.Limit[gpu.LimitMax] = gpu.Some(700.0), gpu.Some(700.0)
	for i := range d.Interconnect.Errors {
		d.Interconnect.Errors[i] = gpu.Total[int64](0)
	}
	for i := range d.Clocks {
		d.Clocks[i].Speed = gpu.Some(1.98e9)
	}
	for reason := range gpu.ThrottlePowerPPT {
		d.Throttle[reason] = gpu.Throttle{Active: gpu.Some(false), Time: gpu.Total(float64(reason))}
	}
	return d
}

// read returns the message of a read at a time.
func (m *machine) read(now time.Time) pmetric.Metrics {
	m.Time = now
	return m.tracker.End(m.recorder.Record(&m.Node), pcommon.NewTimestampFromTime(now))
}

// messageAt sets the time of all points of a message.
func messageAt(message pmetric.Metrics, now time.Time) pmetric.Metrics {
	for _, rm := range message.ResourceMetrics().All() {
		for _, metric := range rm.ScopeMetrics().At(0).Metrics().All() {
			points, _ := numbers(metric)
			for _, p := range points.All() {
				p.SetTimestamp(timestamp(now))
			}
		}
	}
	return message
}
