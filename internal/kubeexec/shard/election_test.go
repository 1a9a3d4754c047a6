// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard/shardtest"
)

// Three replicas, one killed: the guaranteed bounds hold.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 7)
		first := g.join("otel-0")
		g.watch(10 * time.Second)
		assert.Equal(t, []int{7}, g.parts(), "alone")
		g.join("otel-1")
		g.join("otel-2")
		g.watch(30 * time.Second)
		assert.Equal(t, []int{2, 2, 3}, g.parts(), "evenly")
		assert.Less(t, g.longest, 10*time.Second, "a shard that changes hands")
		assert.Equal(t, 3, first.Status().Replicas)

		g.watch(5 * time.Minute)
		assert.Zero(t, g.longest, "in a steady state every shard has its holder")

		g.kill(first)
		g.watch(time.Minute)
		assert.Equal(t, []int{3, 4}, g.parts())
		assert.Less(t, g.longest, 30*time.Second, "within an interval of the default")
		g.watch(2 * time.Minute)
		assert.Zero(t, g.longest)
		assert.Len(t, g.store.Names(labelRole, roleReplica), 2, "the Lease of the one that is no more is deleted")

		leaving := g.join("otel-3")
		g.watch(time.Minute)
		assert.Equal(t, []int{2, 2, 3}, g.parts())
		g.leave(leaving)
		g.watch(time.Minute)
		assert.Less(t, g.longest, 10*time.Second, "a released shard is taken immediately")
		assert.Equal(t, []int{3, 4}, g.parts())
		assert.Zero(t, g.twice, "never two holders")
		assert.Len(t, g.store.Names(labelRole, roleShard), 7)

		g.end()
		assert.Empty(t, g.store.Names(labelRole, roleReplica))
		for _, name := range g.store.Names(labelRole, roleShard) {
			assert.Empty(t, g.store.Holder(name), "released")
		}
	})
}

// All replicas start simultaneously, as when a Deployment is rolled out.
func TestElectionTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 16)
		for i := range 5 {
			g.join(fmt.Sprintf("otel-%d", i))
		}
		g.watch(30 * time.Second)
		assert.Equal(t, []int{3, 3, 3, 3, 4}, g.parts())
		g.watch(time.Minute)
		assert.Zero(t, g.longest)
		for _, p := range slices.Clone(g.processes) {
			g.join("new")
			g.watch(5 * time.Second)
			g.leave(p)
			g.watch(5 * time.Second)
			assert.Less(t, g.longest, 15*time.Second)
		}
		g.watch(30 * time.Second)
		assert.Equal(t, []int{3, 3, 3, 3, 4}, g.parts())
		assert.Zero(t, g.twice)
		g.end()
	})
}

// With one shard, one replica is active and the other passive: the passive one takes over, and the first does not take the shard back.
func TestElectionPassive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 1)
		active := g.join("a")
		g.watch(5 * time.Second)
		passive := g.join("b")
		g.watch(2 * time.Minute)
		assert.Zero(t, g.longest)
		assert.Equal(t, []int{0}, active.Status().Held)
		assert.Empty(t, passive.Status().Held)
		g.leave(active)
		g.watch(20 * time.Second)
		// A look at the other replicas, then one at the Lease, which client-go delays by up to 1.2 times the period.
		assert.LessOrEqual(t, g.longest, RetryPeriod+RetryPeriod*22/10+step)
		assert.Equal(t, []int{0}, passive.Status().Held)
		g.join("c")
		g.watch(time.Minute)
		assert.Zero(t, g.longest)
		assert.Equal(t, []int{0}, passive.Status().Held)
		g.end()
	})
}

// A replica that cannot reach the API server stops before another starts, and reads again when it can.
func TestElectionPartition(t *testing.T) {
	for name, fail := range map[string]shardtest.Trouble{
		"refused": {Fail: apierrors.NewForbidden(shardtest.Leases, "", nil)},
		"hanging": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup(t, 4)
				a, b := g.join("a"), g.join("b")
				g.watch(30 * time.Second)
				require.Equal(t, []int{2, 2}, g.parts())
				a.client.Set(fail)
				g.watch(9 * time.Second)
				assert.Equal(t, []int{2, 2}, g.parts(), "a moment is borne")
				require.Error(t, a.Err())
				require.NoError(t, b.Err())
				g.watch(time.Minute)
				assert.Equal(t, []int{0, 4}, g.parts())
				assert.Less(t, g.longest, 30*time.Second)
				a.client.Set(usual)
				g.watch(time.Minute)
				assert.Equal(t, []int{2, 2}, g.parts())
				require.NoError(t, a.Err())
				assert.Zero(t, g.twice)

				// No replica reaches the API server, and then all do.
				a.client.Set(fail)
				b.client.Set(fail)
				g.watch(time.Minute)
				assert.Equal(t, []int{0, 0}, g.parts())
				a.client.Set(usual)
				b.client.Set(usual)
				g.watch(time.Minute)
				assert.Equal(t, []int{2, 2}, g.parts())
				assert.Zero(t, g.twice)
				g.end()
			})
		})
	}
}

// An API server that hangs does not delay shutdown.
func TestElectionEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		p := g.join("a")
		g.watch(10 * time.Second)
		p.client.Set(shardtest.Trouble{Hang: true})
		time.Sleep(time.Second)
		start := time.Now()
		g.end()
		assert.LessOrEqual(t, time.Since(start), CloseWait+100*time.Millisecond)
		close(p.lost)
		var lost []int
		for shard := range p.lost {
			lost = append(lost, shard)
		}
		assert.ElementsMatch(t, []int{0, 1, 2}, lost)
	})
}

// A process that was stopped and continued does not consider itself the holder.
func TestHoldsNoLonger(t *testing.T) {
	now := time.Now()
	e := New(Options{Shards: 1, Changed: func() {}})
	e.now = func() time.Time { return now }
	e.quota = 1
	may, takes := e.admit(0)
	require.True(t, may)
	require.True(t, takes)
	e.settle(0, takes, now, nil)
	assert.True(t, e.Holds("n"))
	now = now.Add(RenewDeadline)
	assert.False(t, e.Holds("n"))
	may, takes = e.admit(0)
	assert.True(t, may)
	assert.False(t, takes)
	e.settle(0, takes, now, nil)
	assert.True(t, e.Holds("n"))
}

func TestOf(t *testing.T) {
	const nodes, shards = 1000, 8
	var counts [shards]int
	for i := range nodes {
		counts[shardOf(fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/250, i%250), shards)]++
	}
	for _, n := range counts {
		assert.InDelta(t, nodes/shards, n, nodes/shards*0.35)
	}
	assert.Zero(t, shardOf("anything", 1))
}
