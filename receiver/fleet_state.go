// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// sendState passes on whether a cluster can be read, and makes it a part of the component's status. Each cluster calls it from one
// goroutine.
func (f *fleet) sendState(ctx context.Context, cluster string, at time.Time, failure *gpu.Failure) {
	p, metrics, logs := f.pipeline(remoteNode{cluster: cluster}, "")
	node := &gpu.Node{Host: gpu.Host{ClusterName: cluster}, Time: at, Failure: failure}
	p.Take(ctx, node)
	pass(ctx, p, node, metrics, logs)
	var reason error
	if failure != nil {
		reason = failure
	}
	f.status.update(fleetKey+"/"+cluster, reason)
	f.logSize()
}

// fleetSize is how much is read.
type fleetSize struct{ clusters, nodes, gpus int }

// logSize logs how much is read if that has changed.
func (f *fleet) logSize() {
	var size fleetSize
	for _, cluster := range f.stats() {
		if cluster.Known && cluster.Failure == nil {
			size.clusters++
		}
		for i := range cluster.Nodes {
			if n := &cluster.Nodes[i]; n.Success && n.Unreadable == "" {
				size.nodes++
				size.gpus += n.GPUs
			}
		}
	}
	f.mu.Lock()
	changed := size != f.size
	f.size = size
	f.mu.Unlock()
	if changed {
		f.logger.Info("Reading GPUs of other machines", zap.Int("clusters", size.clusters), zap.Int("nodes", size.nodes), zap.Int("gpus", size.gpus))
	}
}
