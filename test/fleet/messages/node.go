// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
)

const mib = 1 << 20

// Node is the agent on one node. It is not safe for concurrent use.
type Node struct {
	fleet    Fleet
	number   int
	recorder *record.Recorder
}

// Metrics returns the message of a read. Its values depend only on the node and the time.
func (n *Node) Metrics(now time.Time) pmetric.Metrics { return n.recorder.Record(n.read(now)) }

// read returns what the agent reads.
func (n *Node) read(now time.Time) *gpu.Node {
	node := &gpu.Node{Host: n.fleet.host(n.number), Source: "nvml", Vendor: gpu.NVIDIA, Time: now}
	node.Presence[gpu.Visible], node.Presence[gpu.Missing] = gpu.Some(int64(n.fleet.GPUs)), gpu.Some[int64](0)
	node.Presence[gpu.Unmanaged] = gpu.Some[int64](0)
	pods := n.pods()
	for g := range n.fleet.GPUs {
		pod := pods[g%len(pods)]
		d := n.device(g, now)
		d.HoldersKnown = true
		d.Holders = []gpu.Holder{{Container: pod, Resource: "nvidia.com/gpu", Sharing: gpu.SharingExclusive}}
		used := n.processes(node, &d, g, pod, now)
		use := gpu.ContainerUse{
			Container: pod, DeviceID: d.ID, Allocated: gpu.Some(true), Resource: "nvidia.com/gpu", Sharing: gpu.SharingExclusive,
			MemoryUsage: gpu.Some(used), MemoryLimit: d.Memory.Limit, Power: d.Power.Draw, Energy: d.Energy, IdleTime: gpu.TotalSince(0.0, start),
		}
		use.Utilization[gpu.TaskGeneral] = d.Utilization[gpu.TaskGeneral]
		node.Devices, node.Containers = append(node.Devices, d), append(node.Containers, use)
	}
	return node
}

// start is the start of the processes and the counters of the fleet.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// pods returns the containers that hold the GPUs: on nodes of even numbers one that holds all, on the others one for each GPU.
func (n *Node) pods() []*gpu.Container {
	count, kind, owner := 1, "StatefulSet", fmt.Sprintf("train-%d", n.number/8)
	if n.number%2 == 1 {
		count, kind, owner = max(n.fleet.GPUs, 1), "Deployment", fmt.Sprintf("serve-%d", n.number/8)
	}
	pods := make([]*gpu.Container, count)
	for i := range pods {
		name := fmt.Sprintf("%s-%d-%d", owner, n.number, i)
		pods[i] = &gpu.Container{
			Namespace: fmt.Sprintf("team-%d", n.number%10), PodName: name, PodUID: fmt.Sprintf("%08x-0000-4000-8000-%012x", n.number, i), Name: "main",
			ID: fmt.Sprintf("%032x%032x", n.number, i), Owners: []gpu.Owner{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: fmt.Sprintf("%08x-0000-4000-9000-%012x", n.number/8, n.number%2)}},
		}
	}
	return pods
}

// processes adds the processes of a GPU to the node, and returns the memory that they use.
func (n *Node) processes(node *gpu.Node, d *gpu.Device, number int, pod *gpu.Container, now time.Time) int64 {
	var used int64
	count := n.fleet.Processes / max(n.fleet.GPUs, 1)
	for i := range count {
		memory, _ := d.Memory.Usage.Get()
		p := gpu.Process{
			PID: int64(20000 + number*count + i), DeviceID: d.ID, Type: gpu.ProcessCompute, Memory: gpu.Some(memory / int64(count)),
			MemoryController: gpu.Some(n.wave(number+i, now, 0, 0.1)), Created: start, Program: "/usr/bin/python3.12", Executable: "python3.12",
			Command: "/usr/bin/python3.12", UserID: gpu.Some[int64](1000), Owner: "trainer", Container: pod,
		}
		p.Utilization[gpu.TaskGeneral] = gpu.Some(n.wave(number+i, now, 0, 0.12))
		p.Utilization[gpu.TaskEncoder], p.Utilization[gpu.TaskDecoder] = gpu.Some(0.0), gpu.Some(0.0)
		node.Processes = append(node.Processes, p)
		used += memory / int64(count)
	}
	return used
}

// wave is a value that changes with time between two bounds, differently on each GPU, in hundredths as drivers report shares.
func (n *Node) wave(g int, now time.Time, low, high float64) float64 {
	phase := float64(n.number*31 + g*7)
	v := low + (high-low)*(0.5+0.5*math.Sin(float64(now.Unix())/37+phase))
	return math.Round(v*100) / 100
}
