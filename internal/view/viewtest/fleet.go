// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package viewtest

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// Fleet returns a snapshot of nodes in ten clusters, each with a number of GPUs and of processes. Each process is a pod's; a hundred
// pods, of several nodes, are one workload.
func Fleet(nodes, gpus, processes int) *view.Snapshot {
	const clusters = 10
	s := &view.Snapshot{Time: Now, Instance: "gateway-0", Generation: 1}
	pod := 0
	for c := range clusters {
		name := fmt.Sprintf("cluster-%02d", c)
		s.Clusters = append(s.Clusters, view.Cluster{Name: name, Sources: []view.Source{}, LastSeen: Now})
		for i := range nodes / clusters {
			n := node(&name, fmt.Sprintf("node-%04d", i))
			n.Labels = map[string]string{"topology.kubernetes.io/zone": "zone-a", "node.kubernetes.io/instance-type": "p5.48xlarge"}
			n.Drivers = []view.Driver{{Vendor: "NVIDIA", Version: "580.65.06"}}
			for k := range gpus {
				g := nvidia(n, k, "NVIDIA H100 80GB HBM3", 80*gib)
				g.ID = fmt.Sprintf("GPU-%08x-0000-0000-%04x-%012x", c, i, k)
				load(g, 0.5, 40*gib, 400)
				n.GPUs = append(n.GPUs, g)
			}
			for k := range processes {
				g := n.GPUs[k%gpus]
				user := view.User{
					Namespace: new(fmt.Sprintf("team-%02d", pod/100%20)), Pod: new(fmt.Sprintf("job-%d-%d", pod/100, pod%100)),
					PodUID: new(fmt.Sprintf("uid-%d", pod)), Container: new("main"), ContainerID: new(fmt.Sprintf("%064x", pod)),
					WorkloadKind: new("Job"), Workload: new(fmt.Sprintf("job-%d", pod/100)),
				}
				hold(g, user, gib, 0.1, 50)
				process(g, user, 1000+k, "python3", gib, 0.1)
				pod++
			}
			n.GPUCount, n.Memory = &gpus, sum(n.GPUs)
			s.Nodes = append(s.Nodes, n)
		}
	}
	return s
}
