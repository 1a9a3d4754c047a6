// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"time"
)

// awaitNames lets the reads begin when the pods of the cluster and what owns them have been listed, which takes seconds where
// there are many: read before, containers would have no names, and be others a moment later. It waits for an interval at most,
// and not for what cannot be listed.
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
