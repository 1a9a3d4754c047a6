// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"fmt"

	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// Fleet is the size of a fleet.
type Fleet struct {
	Nodes     int
	GPUs      int // of each node
	Processes int // of each node, divided among its GPUs
	Clusters  int // among which the nodes are divided; 0 is 1
}

// Cluster returns the name of the cluster of a node.
func (f Fleet) Cluster(node int) string { return fmt.Sprintf("cluster-%d", node%max(f.Clusters, 1)) }

// Name returns the name of a node.
func Name(node int) string { return fmt.Sprintf("gpu-node-%04d", node) }

// ID returns the hw.id of a GPU.
func ID(node, gpu int) string { return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", node, gpu) }

// Node returns the agent on a node.
func (f Fleet) Node(number int) *Node {
	return &Node{fleet: f, number: number, recorder: record.New(metadata.NewDefaultMetricsBuilderConfig(), receivertest.NewNopSettings(metadata.Type))}
}

// All returns the agents on all nodes.
func (f Fleet) All() []*Node {
	all := make([]*Node, f.Nodes)
	for i := range all {
		all[i] = f.Node(i)
	}
	return all
}

// host returns what the agent on a node is configured with.
func (f Fleet) host(node int) gpu.Host {
	return gpu.Host{Name: Name(node), NodeName: Name(node), ClusterName: f.Cluster(node), Labels: map[string]string{
		"k8s.node.label.node.kubernetes.io/instance-type": "p5.48xlarge",
		"k8s.node.label.topology.kubernetes.io/zone":      fmt.Sprintf("zone-%c", 'a'+rune(node%3)),
	}}
}
