// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// BenchmarkNodeRead measures one read of a node without the network: building the script's argv, splitting and parsing its output, and
// joining eight processes. The cost of the fake tool is included.
func BenchmarkNodeRead(b *testing.B) {
	c, _, _, _ := bare(1, 0)
	handed := 0
	c.sink = func(_ context.Context, _ string, node *gpu.Node, err error) {
		if err != nil || len(node.Devices) != 1 || len(node.Processes) != 8 || len(node.Problems) > 0 {
			b.Fatal(err, len(node.Devices), len(node.Processes), node.Problems)
		}
		handed++
	}
	m := &exectest.Machine{UUID: "GPU-1", Table: map[int64]string{}}
	for pid := range int64(8) {
		m.Processes = append(m.Processes, fmt.Sprintf("%d, GPU-1, 400 MiB, /usr/bin/python3\n", 100+pid))
		m.Table[100+pid] = strings.Replace(inPrivate, "1111", fmt.Sprintf("%04d", pid), 1)
	}
	p := planOf(c, "n1", "first")
	p.jobs[0].container.HostPID = true
	c.executor = &direct{boxes: map[string]exectest.Box{"n1": m.Box()}}
	n := newNode(c, "n1", p)
	n.readers[p.jobs[0].reader()] = newReader(c, p.jobs[0].target, attribution.NewRemote(nil, interval))
	b.ReportAllocs()
	for b.Loop() {
		n.read(b.Context(), p, &p.jobs[0])
		m.Forget()
	}
	if handed == 0 {
		b.Fatal("nothing was handed on")
	}
}

// BenchmarkPlan measures planning after a change in a cluster of 1,000 nodes.
func BenchmarkPlan(b *testing.B) {
	config := DefaultConfig()
	s := &clusterSnapshot{targets: config.targets(), complete: true, pods: make([][]*driverPod, 2), nodes: map[string]*knownNode{}}
	for i := range 1000 {
		pod, node := exectest.Driver(fmt.Sprintf("node-%d", i))
		object, err := storeDriverPod(pod)
		if err != nil {
			b.Fatal(err)
		}
		s.pods[0] = append(s.pods[0], object.(*driverPod))
		s.nodes[node.Name] = storeNode(node, []string{"nvidia.com/*"})
	}
	b.ReportAllocs()
	for b.Loop() {
		if plans := s.plan(); len(plans) != 1000 {
			b.Fatal(len(plans))
		}
	}
}
