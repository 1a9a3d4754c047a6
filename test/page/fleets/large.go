// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package fleets has the fleets that the tests of the page show.
package fleets

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

const (
	gib     = 1 << 30
	perNode = 8
)

// models are the models of the generated nodes, by number.
var models = []struct {
	vendor, name string
	memory       float64
	watts        float64
}{
	{"NVIDIA", "NVIDIA H100 80GB HBM3", 80 * gib, 700},
	{"NVIDIA", "NVIDIA A100-SXM4-80GB", 80 * gib, 400},
	{"NVIDIA", "NVIDIA L40S", 48 * gib, 350},
	{"AMD", "AMD Instinct MI300X", 192 * gib, 750},
}

// Large returns nodes with 8 GPUs each in a few clusters: most of them work, some idle, throttle, have failed, or are silent.
// The same number gives the same fleet.
func Large(nodes int) *view.Snapshot {
	random := rand.New(rand.NewPCG(uint64(nodes), 7))
	now := viewtest.Now
	s := &view.Snapshot{Time: now, Instance: "gateway-0", Generation: 1}
	clusters := []string{"berlin", "iowa", "osaka", "tulsa"}
	for _, name := range clusters {
		s.Clusters = append(s.Clusters, view.Cluster{Name: name, Sources: []view.Source{}, LastSeen: now})
	}
	for c, name := range clusters {
		for i := range nodes / len(clusters) {
			s.Nodes = append(s.Nodes, node(random, name, fmt.Sprintf("gpu-%s-%03d", name[:2], i), (c+i/40)%len(models), now))
		}
	}
	return s
}

func node(random *rand.Rand, cluster, name string, model int, now time.Time) *view.Node {
	m := models[model]
	n := &view.Node{
		Name: name, Host: new(name), Cluster: new(cluster), State: view.Live, Readable: new(true), LastSeen: now.Add(-10 * time.Second), Interval: new(30.0),
		Sources: []view.Source{{Name: map[string]string{"NVIDIA": "nvml", "AMD": "amdgpu"}[m.vendor], Vendor: new(m.vendor), Readable: true, Reasons: []string{}}},
		Drivers: []view.Driver{{Vendor: m.vendor, Version: "580.65.06"}}, Labels: map[string]string{}, GPUCount: new(perNode), Missing: new(0), GPUs: []*view.GPU{},
	}
	if random.IntN(200) == 0 {
		n.State, n.LastSeen = view.Stale, now.Add(-5*time.Minute)
	}
	busy := random.Float64()
	for i := range perNode {
		n.GPUs = append(n.GPUs, device(random, n, i, model, busy))
	}
	for _, g := range n.GPUs {
		g.Stale = n.State == view.Stale
	}
	n.Memory = sum(n.GPUs)
	return n
}

func device(random *rand.Rand, n *view.Node, i, model int, busy float64) *view.GPU {
	m := models[model]
	share := min(1, max(0, busy+random.NormFloat64()*0.12))
	if busy < 0.15 {
		share = 0
	}
	share = float64(int(share*100)) / 100
	used := m.memory * min(0.97, share*0.8+0.05)
	g := &view.GPU{
		ID: fmt.Sprintf("GPU-%s-%d", n.Name, i), Node: n.Name, Cluster: n.Cluster, Index: new(i), Name: new(fmt.Sprintf("gpu%d", i)), Vendor: new(m.vendor),
		Model: new(m.name), PCIAddress: new(fmt.Sprintf("0000:%02x:00.0", 0x10+i)), DriverVersion: new("580.65.06"), LastSeen: n.LastSeen,
		Status: new("ok"), Faults: []string{}, Utilization: view.Utilization{General: &share, MemoryController: new(share / 2)},
		Memory: view.Memory{Total: &m.memory, Used: &used, Reserved: new(0.0), Free: new(m.memory - used), Utilization: new(float64(int(used/m.memory*100)) / 100)},
		Temperatures: []view.Temperature{
			{Sensor: "gpu", Celsius: new(35 + 40*share), Limits: map[string]float64{"high.degraded": 87, "high.critical": 92}},
		},
		Margins: map[string]float64{}, Power: view.Power{Watts: new(90 + (m.watts-90)*share), Limit: &m.watts, MaxLimit: &m.watts, Utilization: new((90 + (m.watts-90)*share) / m.watts)},
		Clocks: map[string]float64{"graphics": 1.98e9, "memory": 2.6e9}, ClockLimits: map[string]float64{}, Fans: []view.Fan{}, Throttled: []string{}, ThrottleTimes: map[string]float64{},
		PCIe:          view.PCIe{Generation: new(5), MaxGeneration: new(5), Width: new(16), MaxWidth: new(16), Replays: new(0.0), Errors: map[string]float64{}, PortErrors: map[string]float64{}},
		Interconnects: []view.Interconnect{}, Errors: map[string]float64{"corrected": 0, "uncorrected": 0}, XIDs: map[string]float64{},
		RemappedRows: map[string]float64{}, RetiredPages: map[string]float64{}, RemapStates: []string{}, MemoryBanks: map[string]float64{},
		Fabric: view.Fabric{Conditions: []string{}}, PendingModes: []string{}, Containers: []*view.Container{}, Processes: []*view.Process{},
	}
	if share > 0 {
		use(g, random, share, used)
	}
	afflict(g, random)
	return g
}

// use has a training job hold the GPU.
func use(g *view.GPU, random *rand.Rand, share, used float64) {
	job := fmt.Sprintf("train-%d", random.IntN(40))
	user := view.User{
		Namespace: new([]string{"research", "serving", "vision"}[random.IntN(3)]), Pod: new(job + "-0"), Container: new("main"),
		ContainerID: new("c-" + g.ID), WorkloadKind: new("Job"), Workload: &job,
	}
	g.Allocated = new(1)
	g.Containers = []*view.Container{{User: user, Allocated: new(true), Resource: new("nvidia.com/gpu"), Memory: &used, Utilization: &share}}
	g.Processes = []*view.Process{{
		User: user, PID: 1000 + random.IntN(60000), GPU: g.ID, GPUIndex: g.Index, Node: g.Node, Cluster: g.Cluster, Type: new("compute"), Name: new("python3"),
		Memory: &used, Utilization: &share,
	}}
}

// afflict lets a few GPUs fail, degrade or throttle.
func afflict(g *view.GPU, random *rand.Rand) {
	switch random.IntN(250) {
	case 0:
		g.Status, g.Faults, g.RecoveryAction = new("failed"), []string{"lost"}, new("reset")
		g.Utilization, g.Memory, g.Power, g.Temperatures = view.Utilization{}, view.Memory{}, view.Power{}, []view.Temperature{}
		g.XIDs = map[string]float64{"79": 1}
	case 1:
		g.Status, g.Faults, g.RemapStates = new("degraded"), []string{"remap_pending"}, []string{"pending"}
	case 2, 3:
		g.Throttled = []string{"sw_thermal_slowdown"}
	case 4:
		g.Status = nil
	}
}

func sum(gpus []*view.GPU) view.Memory {
	var total, used float64
	for _, g := range gpus {
		if g.Memory.Total != nil {
			total, used = total+*g.Memory.Total, used+*g.Memory.Used
		}
	}
	return view.Memory{Total: &total, Used: &used, Reserved: new(0.0), Free: new(total - used), Utilization: new(used / total)}
}
