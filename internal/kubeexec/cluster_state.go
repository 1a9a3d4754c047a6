// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// listWait is how long the first lists of a cluster may take before the cluster counts as unreachable.
const listWait = 10 * time.Second

var errNotListed = errors.New("the API server does not complete the first list of the driver pods or nodes")

// failure returns why the nodes to read, or their pods, are unknown, or why no shard can be taken. known is false while the first lists are
// awaited.
func (c *cluster) failure(waited time.Duration) (failure *gpu.Failure, known bool) {
	synced := true
	for i, informer := range c.pods {
		if err := informer.Err(); err != nil {
			return gpu.FailureOf(c.podsError(i, err)), true
		}
		synced = synced && informer.HasSynced()
	}
	if c.selected { // otherwise a node is known by its driver pod
		if err := c.nodes.Err(); err != nil {
			return gpu.FailureOf(c.wrap(err)), true
		}
		synced = synced && c.nodes.HasSynced()
	}
	if c.election != nil {
		if err := c.election.Err(); err != nil {
			return &gpu.Failure{Reason: kube.ReasonOf(err), Err: c.wrap(err)}, true
		}
	}
	if !synced {
		return &gpu.Failure{Reason: gpu.FailureAPIUnreachable, Err: c.wrap(errNotListed)}, waited >= listWait
	}
	return nil, true
}

// podsError is an error of the driver pods of a target, with what the account needs if it lacks a permission.
func (c *cluster) podsError(target int, err error) error {
	if gpu.FailureOf(err).Reason == gpu.FailureAPIForbidden {
		err = fmt.Errorf("%w, and get and create on pods/exec, in namespace %s (deploy/kubernetes/exec-driver-pods); or name the namespace of the driver pods "+
			"under targets", err, c.targets[target].Namespace)
	}
	return c.wrap(err)
}

// reportState reports whether the cluster can be read, when that changes and when it is due. start is the start of the cluster's lists.
func (c *cluster) reportState(ctx context.Context, start time.Time, due bool) {
	now := c.now()
	failure, known := c.failure(now.Sub(start))
	if !known || ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	before := c.state
	c.state.known, c.state.failure = true, failure
	if failure == nil {
		c.state.good = now
	}
	c.mu.Unlock()
	if (due || before.differs(failure)) && (failure != nil || c.speaks()) {
		c.report(ctx, c.name, now, failure)
	}
}
