// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"time"
)

// awaitNames lets the reads begin when the pods of the cluster and their owners have been listed, which takes seconds in a large
// cluster. In reads before that, containers would have no names and would become other series a moment later. It waits for one
// interval at most, and not while a list fails.
func (c *cluster) awaitNames(ctx context.Context) {
	defer close(c.named)
	ctx, cancel := context.WithTimeout(ctx, c.interval)
	defer cancel()
	for ctx.Err() == nil && len(c.view.Problems()) == 0 {
		look, end := context.WithTimeout(ctx, 100*time.Millisecond)
		synced := c.view.WaitSynced(look)
		end()
		if synced {
			return
		}
	}
}
