// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// ClusterStats is the state of the reads of a cluster.
type ClusterStats struct {
	Name  string
	Nodes []NodeStats // by name and vendor
	// Known reports whether it was found out if the cluster can be read; Failure means nothing before.
	Known    bool
	Failure  *gpu.Failure // why the cluster cannot be read; nil if it can
	LastGood time.Time    // when it last could; zero if it never could
	// Throttled is the number of times that the API server has asked for fewer requests.
	Throttled int64
	// Skipped is the number of intervals in which a node was not read, because of a back-off, a pause that the API server has
	// asked for, or more nodes than max_concurrent and the timeout allow.
	Skipped int64
	// Election is the state of leader election; nil if all nodes are read. Otherwise Nodes are the nodes of the held shards.
	Election *shard.Status
}
