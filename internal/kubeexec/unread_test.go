// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// A tool that does not end is not a successful read, whether the node's GPUs are known or not. The node continues to be read and sent: its
// GPUs have failed, and are reported as often as before.
func TestToolThatHangs(t *testing.T) {
	for name, before := range map[string]time.Duration{"at first": 0, "later": 3 * interval} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				c, machines, s, plans := bare(1, 1)
				if before == 0 {
					machines.failing["node-0"] = command.ErrTimeout
				}
				c.follow(ctx, plans, nil)
				time.Sleep(before)
				machines.set(func() { machines.failing["node-0"] = command.ErrTimeout })
				time.Sleep(10 * interval)
				stats := c.stats().Nodes[0]
				assert.True(t, stats.Read)
				assert.False(t, stats.Success)
				assert.Equal(t, before == 0, stats.LastGood.IsZero())
				assert.Zero(t, stats.Failures, "of those by which it is read less often")
				sent, failed, _, _ := s.of("c/node-0")
				assert.GreaterOrEqual(t, sent, 9)
				assert.Zero(t, failed)

				machines.set(func() { delete(machines.failing, "node-0") })
				time.Sleep(2 * interval)
				assert.True(t, c.stats().Nodes[0].Success)
				cancel()
				c.reading.Wait()
			})
		})
	}
}
