// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewtest has a fleet for tests of what reads a view.Snapshot.
package viewtest // import "github.com/otelgpu/gpureceiver/internal/view/viewtest"

import (
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// Now is the time of the snapshot.
var Now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const gib = 1 << 30

// Snapshot returns a small fleet that has one of everything:
//   - prod/n1: four healthy H100, two held by training (one idle), one used without a holder, one throttled
//   - prod/n2: an A100 divided into two MIG instances, and an A100 that failed
//   - prod/empty: no GPU; prod/unread: a source that cannot read it
//   - lab/n1: two MI300X, a node name that is in two clusters
//   - cpu: a cluster without GPUs; gone: a cluster that cannot be read
//   - a machine outside clusters, stale
func Snapshot() *view.Snapshot {
	s := &view.Snapshot{
		Time: Now, Instance: "gateway-0", Generation: 42,
		Clusters: []view.Cluster{
			{Name: "cpu", Sources: source("kubernetes_exec", nil, true), Readable: new(true), LastSeen: Now},
			{Name: "gone", Sources: source("kubernetes_exec", nil, false, "timeout"), Readable: new(false), LastSeen: Now},
			{Name: "lab", Sources: []view.Source{}, LastSeen: Now},
			{Name: "prod", Sources: source("kubernetes_exec", nil, true), Readable: new(true), LastSeen: Now},
		},
		Nodes: []*view.Node{machine(), lab(), prodEmpty(), prod1(), prod2(), prodUnread()},
	}
	for _, n := range s.Nodes {
		n.Memory = sum(n.GPUs)
	}
	return s
}

func source(name string, vendor *string, readable bool, reasons ...string) []view.Source {
	return []view.Source{{Name: name, Vendor: vendor, Readable: readable, Reasons: append([]string{}, reasons...)}}
}

// node returns a node without GPUs.
func node(cluster *string, name string) *view.Node {
	return &view.Node{
		Name: name, Host: new(name), Cluster: cluster, State: view.Live, Readable: new(true), LastSeen: Now.Add(-5 * time.Second), Interval: new(30.0),
		Sources: source("nvml", new("NVIDIA"), true), Drivers: []view.Driver{}, Labels: map[string]string{}, GPUCount: new(0), Missing: new(0),
		GPUs: []*view.GPU{},
	}
}

func prod1() *view.Node {
	n := node(new("prod"), "n1")
	n.Labels["nvidia.com/gpu.product"] = "NVIDIA-H100-80GB-HBM3"
	n.Drivers = []view.Driver{{Vendor: "NVIDIA", Version: "580.65.06"}}
	for i := range 4 {
		n.GPUs = append(n.GPUs, nvidia(n, i, "NVIDIA H100 80GB HBM3", 80*gib))
	}
	n.GPUCount = new(4)
	train := view.User{
		Namespace: new("ml"), Pod: new("train-0"), PodUID: new("uid-train-0"), Container: new("trainer"), ContainerID: new("c0ffee"),
		WorkloadKind: new("StatefulSet"), Workload: new("train"),
	}
	busy, idle, foreign, hot := n.GPUs[0], n.GPUs[1], n.GPUs[2], n.GPUs[3]
	load(busy, 0.97, 60*gib, 650)
	hold(busy, train, 60*gib, 0.97, 640)
	process(busy, train, 4242, "python3", 60*gib, 0.97)
	load(idle, 0, 1*gib, 70)
	hold(idle, train, 0, 0, 0)
	idle.Containers[0].IdleSince = new(Now.Add(-2 * time.Hour))
	load(foreign, 0.5, 20*gib, 300)
	evil := view.User{
		Namespace: new("ml"), Pod: new("<script>alert(1)</script>"), PodUID: new("uid-evil"), Container: new("main"), ContainerID: new("bad"),
		WorkloadKind: new("Pod"), Workload: new("<script>alert(1)</script>"),
	}
	process(foreign, evil, 666, "<script>alert(2)</script>", 20*gib, 0.5)
	load(hot, 1, 40*gib, 700)
	hot.Throttled = []string{"hw_thermal_slowdown", "sw_power_cap"}
	hot.Temperatures[0].Celsius = new(88.0)
	return n
}

func prod2() *view.Node {
	n := node(new("prod"), "n2")
	n.Drivers = []view.Driver{{Vendor: "NVIDIA", Version: "550.54.15"}}
	divided := nvidia(n, 0, "NVIDIA A100-SXM4-40GB", 40*gib)
	load(divided, 0, 10*gib, 120)
	divided.Utilization = view.Utilization{}
	n.GPUs = append(n.GPUs, divided)
	for i := range 2 {
		mig := nvidia(n, i, "NVIDIA A100-SXM4-40GB", 20*gib)
		mig.ID, mig.Parent, mig.PartitionProfile = fmt.Sprintf("MIG-n2-%d", i), &divided.ID, new("3g.20gb")
		mig.Memory = memory(20*gib, 5*gib)
		mig.Power, mig.Temperatures, mig.PCIAddress, mig.Status = view.Power{}, []view.Temperature{}, nil, nil
		n.GPUs = append(n.GPUs, mig)
	}
	failed := nvidia(n, 1, "NVIDIA A100-SXM4-40GB", 40*gib)
	failed.Status, failed.Faults, failed.RecoveryAction = new("failed"), []string{"lost"}, new("reboot")
	failed.Memory, failed.Power, failed.Temperatures, failed.Clocks = view.Memory{}, view.Power{}, []view.Temperature{}, map[string]float64{}
	failed.Utilization, failed.PerformanceState = view.Utilization{}, nil
	failed.XIDs = map[string]float64{"79": 1}
	n.GPUs = append(n.GPUs, failed)
	n.GPUCount, n.Missing = new(1), new(1)
	return n
}

func prodEmpty() *view.Node { return node(new("prod"), "empty") }

func prodUnread() *view.Node {
	n := node(new("prod"), "unread")
	n.Readable, n.GPUCount, n.Missing = new(false), nil, nil
	n.Sources = source("kubernetes_exec", new("NVIDIA"), false, "timeout")
	return n
}

func lab() *view.Node {
	n := node(new("lab"), "n1")
	n.Sources = source("amdgpu", new("AMD"), true)
	n.Drivers = []view.Driver{{Vendor: "AMD", Version: "6.8.5"}}
	for i := range 2 {
		g := nvidia(n, i, "AMD Instinct MI300X", 192*gib)
		g.ID, g.Vendor, g.Name, g.PerformanceState, g.Memory.Reserved = fmt.Sprintf("%016x", 0xabc0+i), new("AMD"), new(fmt.Sprintf("card%d", i)), nil, nil
		load(g, 0.25, 96*gib, 400)
		g.Memory = memory(192*gib, 96*gib)
		n.GPUs = append(n.GPUs, g)
	}
	n.GPUCount = new(2)
	return n
}

func machine() *view.Node {
	n := node(nil, "workstation")
	n.State, n.LastSeen = view.Stale, Now.Add(-4*time.Minute)
	g := nvidia(n, 0, "NVIDIA RTX 4090", 24*gib)
	g.LastSeen, g.Stale = n.LastSeen, true
	g.Fans = []view.Fan{{Sensor: "fan0", Speed: 0.4}}
	load(g, 0.1, 2*gib, 60)
	n.GPUs, n.GPUCount = []*view.GPU{g}, new(1)
	return n
}
