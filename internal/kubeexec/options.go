// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Sink takes one vendor's GPUs of one node. It is called by the goroutine that has read the node, which keeps one of the
// cluster's max_concurrent places until Sink returns. Calls for several nodes run at a time, but never two for one node. The
// node is valid until Sink returns. With readErr it has only the host, the vendor, the time, and the known GPUs as unread. A node
// with GPUs and without a usable pod is passed on with readErr once in each interval, and so is one that is read less often because its
// reads fail; these take no place.
type Sink func(ctx context.Context, cluster string, node *gpu.Node, readErr error)

// Options configure a Fleet beyond what users configure.
type Options struct {
	Interval time.Duration // each node is read once in each interval
	Timeout  time.Duration // bounds one read of one node
	// CloseWait bounds how long Close waits for cancelled reads; 0: a moment.
	CloseWait time.Duration
	Want      gpu.Group // the quantities to read
	Sink      Sink
	// Gone is called after the last call of Sink for a node that is not read any more: because it has no GPUs any more, or because another
	// replica reads it. May be nil.
	Gone func(ctx context.Context, cluster, node string, byAnother bool)
	// Problems takes the current problems of a cluster, except the problems of reads, which Sink gets. It is called at least once in each
	// interval, from one goroutine for each cluster. May be nil.
	Problems func(cluster string, problems []gpu.Problem)
	// State takes whether a cluster can be read, and if not, why: once in each interval, and when it changes, from one goroutine for each
	// cluster. With several replicas, one reports that it can be read, and each reports that it cannot. May be nil.
	State func(ctx context.Context, cluster string, now time.Time, failure *gpu.Failure)
}
