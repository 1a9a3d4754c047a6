// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package viewtest

import (
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// nvidia returns a healthy GPU without load.
func nvidia(n *view.Node, index int, model string, total float64) *view.GPU {
	g := &view.GPU{
		ID: fmt.Sprintf("GPU-%s-%d", n.Name, index), Node: n.Name, Cluster: n.Cluster, Index: new(index), Name: new(fmt.Sprintf("nvidia%d", index)),
		Vendor: new("NVIDIA"), Model: new(model), PCIAddress: new(fmt.Sprintf("0000:%02x:00.0", 0x10+index)), LastSeen: n.LastSeen,
		Status: new("ok"), Faults: []string{}, Utilization: view.Utilization{General: new(0.0), Encoder: new(0.0), Decoder: new(0.0), MemoryController: new(0.0)},
		Memory:       memory(total, 0),
		Temperatures: []view.Temperature{{Sensor: "gpu", Celsius: new(40.0), Limits: map[string]float64{"high.critical": 90}}}, Margins: map[string]float64{},
		Power: view.Power{Limit: new(700.0), MaxLimit: new(700.0)}, Clocks: map[string]float64{"graphics": 1.98e9, "memory": 2.6e9, "sm": 1.98e9},
		ClockLimits:      map[string]float64{"graphics": 1.98e9, "memory": 2.6e9, "sm": 1.98e9},
		PerformanceState: new(0), Fans: []view.Fan{}, Throttled: []string{}, ThrottleTimes: map[string]float64{},
		PCIe: view.PCIe{Generation: new(5), MaxGeneration: new(5), Width: new(16), MaxWidth: new(16), Replays: new(0.0), Errors: map[string]float64{}, PortErrors: map[string]float64{}}, Interconnects: []view.Interconnect{},
		Errors: map[string]float64{"corrected": 0, "uncorrected": 0}, XIDs: map[string]float64{}, RemappedRows: map[string]float64{},
		RetiredPages: map[string]float64{}, RemapStates: []string{}, MemoryBanks: map[string]float64{},
		Fabric: view.Fabric{Conditions: []string{}}, PendingModes: []string{}, Containers: []*view.Container{}, Processes: []*view.Process{},
	}
	if len(n.Drivers) > 0 {
		g.DriverVersion = new(n.Drivers[0].Version)
	}
	return g
}

func memory(total, used float64) view.Memory {
	return view.Memory{Total: new(total), Used: new(used), Reserved: new(float64(gib) / 2), Free: new(total - used - gib/2), Utilization: new(used / total)}
}

// load sets what a running program changes.
func load(g *view.GPU, utilization, used, watts float64) {
	g.Utilization.General = new(utilization)
	g.Memory = memory(*g.Memory.Total, used)
	g.Power.Watts, g.Power.Energy, g.Power.Utilization = new(watts), new(watts*3600), new(watts / *g.Power.Limit)
}

// hold allocates a GPU to a user.
func hold(g *view.GPU, user view.User, used, utilization, watts float64) {
	g.Allocated = new(1)
	g.Containers = append(g.Containers, &view.Container{
		User: user, Allocated: new(true), Resource: new("nvidia.com/gpu"), Allocator: new("device_plugin"), Memory: new(used), Utilization: new(utilization),
		Power: new(watts), Energy: new(watts * 3600), IdleTime: new(0.0),
	})
}

// process puts a process on a GPU.
func process(g *view.GPU, user view.User, pid int, name string, used, utilization float64) {
	g.Processes = append(g.Processes, &view.Process{
		User: user, PID: pid, GPU: g.ID, GPUIndex: g.Index, Node: g.Node, Cluster: g.Cluster, Type: new("compute"), Name: new(name), Owner: new("alice"),
		Started: new(Now.Add(-time.Hour)), Memory: new(used), Utilization: new(utilization), MemoryControllerUtilization: new(utilization / 2),
	})
}

// sum adds up the memory of packages.
func sum(gpus []*view.GPU) view.Memory {
	var total, used, reserved, free float64
	measured := false
	for _, g := range gpus {
		if g.Parent != nil || g.Memory.Total == nil {
			continue
		}
		measured = true
		total, used, free = total+*g.Memory.Total, used+*g.Memory.Used, free+*g.Memory.Free
		reserved += *g.Memory.Reserved
	}
	if !measured {
		return view.Memory{}
	}
	return view.Memory{Total: &total, Used: &used, Reserved: &reserved, Free: &free, Utilization: new(used / total)}
}
