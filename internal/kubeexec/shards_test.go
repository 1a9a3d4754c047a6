// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard/shardtest"
)

// collector is one replica: a cluster without a network that follows its plans as its election changes.
type collector struct {
	*cluster
	sunk       *sunk
	leases     *shardtest.Client
	cancel     context.CancelFunc
	ended      chan struct{}
	unfinished atomic.Int64 // nodes still being read when their shard was released
	hang       atomic.Bool  // results are not taken before stuck is closed
	stuck      chan struct{}
}

// collect starts a replica that shares the nodes of the plans, and the machines behind them, with others.
func collect(t *testing.T, store *shardtest.Store, machines *counting, nodes int) *collector {
	t.Helper()
	c, _, s, plans := bare(16, nodes)
	c.executor = machines
	r := &collector{cluster: c, sunk: s, leases: store.Client(), ended: make(chan struct{}), stuck: make(chan struct{})}
	c.sink = func(ctx context.Context, cluster string, node *gpu.Node, err error) {
		if r.hang.Load() {
			<-r.stuck
		}
		s.sink(ctx, cluster, node, err)
	}
	c.election = shard.New(shard.Options{
		Shards: 6, Name: "gpureceiver", Namespace: "monitoring", Identity: shard.NewIdentity("otel"), Leases: r.leases,
		Changed: c.changed, Lost: func(shard int) {
			c.drop(shard)
			for name := range running(c) {
				if c.election.Of(name) == shard {
					r.unfinished.Add(1)
				}
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	go func() {
		defer close(r.ended)
		defer c.elect(ctx)()
		ticker := time.NewTicker(c.interval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			all := maps.Clone(plans)
			all["unreadable"] = withoutPod("unreadable")
			c.follow(ctx, c.ours(all))
			select {
			case <-ctx.Done():
			case <-ticker.C:
			case <-c.dirty:
			}
		}
	}()
	return r
}

// reads returns the smallest and the largest number of reads of a node between two times.
func reads(machines *counting, nodes int, start, end time.Time) (least, most int) {
	least = 1 << 30
	for i := range nodes {
		n := 0
		for _, readTime := range machines.times(fmt.Sprintf("node-%d", i)) {
			if !readTime.Before(start) && readTime.Before(end) {
				n++
			}
		}
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

// gap returns the longest time during which a node was not read.
func gap(machines *counting, nodes int, start time.Time) time.Duration {
	var longest time.Duration
	for i := range nodes {
		last := start
		for _, readTime := range append(machines.times(fmt.Sprintf("node-%d", i)), time.Now()) {
			if readTime.After(start) {
				longest, last = max(longest, readTime.Sub(last)), readTime
			}
		}
	}
	return longest
}

// Three replicas; one is killed: no node is missed for more than two intervals, nor read twice in a steady state.
func TestShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 120
		store := shardtest.New()
		_, machines, _, _ := bare(1, 0)
		replicas := []*collector{collect(t, store, machines, nodes), collect(t, store, machines, nodes), collect(t, store, machines, nodes)}
		time.Sleep(2 * interval)
		steady := time.Now()
		time.Sleep(4*interval + time.Second) // a read may start a little late
		least, most := reads(machines, nodes, steady, steady.Add(4*interval))
		assert.InDelta(t, 4, least, 1)
		assert.InDelta(t, 4, most, 1, "none twice")
		unreadable := 0
		for _, r := range replicas {
			stats := r.stats()
			assert.Equal(t, 3, stats.Election.Replicas)
			assert.Len(t, stats.Election.Held, 2)
			for i := range stats.Nodes {
				if stats.Nodes[i].Unreadable != "" {
					unreadable++
				}
			}
		}
		assert.Equal(t, 1, unreadable, "reported by one replica")

		killed := time.Now()
		replicas[0].leases.Set(shardtest.Trouble{Fail: errors.New("killed")})
		replicas[0].cancel()
		<-replicas[0].ended
		time.Sleep(6 * interval)
		assert.LessOrEqual(t, gap(machines, nodes, killed.Add(-interval)), 2*interval+time.Second)
		assert.Len(t, replicas[1].stats().Election.Held, 3)
		assert.Len(t, replicas[2].stats().Election.Held, 3)
		assert.Equal(t, nodes+1, len(running(replicas[1].cluster))+len(running(replicas[2].cluster)), "with the one that has no pod")

		// Another replica joins: the others forget the nodes that it takes over.
		replicas = append(replicas[1:], collect(t, store, machines, nodes))
		joined := time.Now()
		time.Sleep(4 * interval)
		assert.LessOrEqual(t, gap(machines, nodes, joined.Add(-interval)), 2*interval+time.Second)
		owned := running(replicas[2].cluster)
		assert.NotEmpty(t, owned)
		forgotten := append(replicas[0].sunk.left(), replicas[1].sunk.left()...)
		for name := range owned {
			assert.Contains(t, forgotten, "c/"+name)
			assert.NotContains(t, running(replicas[0].cluster), name)
			assert.NotContains(t, running(replicas[1].cluster), name)
		}
		for _, r := range replicas {
			assert.Zero(t, r.unfinished.Load())
		}
		assert.Zero(t, machines.overlaps, "never by two at a time")
		var ending sync.WaitGroup
		for _, r := range replicas {
			r.cancel()
			ending.Go(func() { <-r.ended })
		}
		ending.Wait()
		synctest.Wait()
	})
}

// A Sink that does not return does not prevent the release of the Leases.
func TestShardsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := shardtest.New()
		_, machines, _, _ := bare(1, 0)
		r := collect(t, store, machines, 12)
		time.Sleep(2 * interval)
		r.hang.Store(true)
		time.Sleep(interval)
		for i := range 6 {
			require.NotEmpty(t, store.Holder(fmt.Sprintf("gpureceiver-shard-%d-of-6", i)))
		}
		r.cancel()
		time.Sleep(closeWait)
		for i := range 6 {
			assert.Empty(t, store.Holder(fmt.Sprintf("gpureceiver-shard-%d-of-6", i)), "released")
		}
		select {
		case <-r.ended:
			t.Fatal("it has not ended")
		default:
		}
		close(r.stuck)
		<-r.ended
	})
}

func TestLeaderElectionConfig(t *testing.T) {
	unmarshal := func(settings map[string]any) *Config {
		config := DefaultConfig()
		require.NoError(t, confmap.NewFromStringMap(settings).Unmarshal(&config))
		return &config
	}
	assert.Nil(t, unmarshal(nil).leaderElection(), "one replica needs none")
	assert.Equal(t, &LeaderElectionConfig{LeaseName: "gpureceiver"}, unmarshal(map[string]any{"shards": 2}).leaderElection())
	assert.Equal(t, &LeaderElectionConfig{LeaseName: "gpureceiver"}, unmarshal(map[string]any{"leader_election": nil}).leaderElection(),
		"one shard, one active replica")
	assert.Equal(t, &LeaderElectionConfig{LeaseName: "east", LeaseNamespace: "monitoring"},
		unmarshal(map[string]any{"leader_election": map[string]any{"lease_name": "east", "lease_namespace": "monitoring"}}).leaderElection())
}

func TestLeaseNamespace(t *testing.T) {
	c, _, _, _ := bare(1, 0)
	_, err := c.newElection(&rest.Config{Host: "https://localhost"}, &LeaderElectionConfig{LeaseName: "x"}, 1)
	if err == nil {
		t.Skip("this is a pod with a service account")
	}
	require.ErrorContains(t, err, "leader_election::lease_namespace: must be set outside of a pod with a service account")
	election, err := c.newElection(&rest.Config{Host: "https://localhost"}, &LeaderElectionConfig{LeaseName: "x", LeaseNamespace: "y"}, 3)
	require.NoError(t, err)
	assert.Less(t, election.Of("n"), 3)
}
