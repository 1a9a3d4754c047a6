// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard/shardtest"
)

// usual is the normal latency of an API server.
var usual = shardtest.Trouble{Slow: 20 * time.Millisecond}

// process is a running replica.
type process struct {
	*Election
	client *shardtest.Client
	cancel context.CancelFunc
	ended  chan struct{}
	killed bool
	lost   chan int
}

// step is the time between two looks at the group.
const step = 50 * time.Millisecond

// group is a set of replicas that share shards, with an observer.
type group struct {
	t      *testing.T
	store  *shardtest.Store
	shards int
	nodes  []string // one of each shard

	mu        sync.Mutex
	processes []*process
	orphaned  []time.Duration // longest time that a shard was without a holder
	longest   time.Duration
	twice     int
	early     int // Leases that were released before the last read ended
}

func newGroup(t *testing.T, shards int) *group {
	t.Helper()
	g := &group{t: t, store: shardtest.New(), shards: shards, orphaned: make([]time.Duration, shards)}
	for shard := range shards {
		g.nodes = append(g.nodes, nodeOf(shard, shards))
	}
	return g
}

func (g *group) join(name string) *process {
	shards := g.shards
	p := &process{client: g.store.Client(), ended: make(chan struct{}), lost: make(chan int, 1000)}
	p.Election = New(Options{
		Shards: g.shards, Name: "gpureceiver", Namespace: "monitoring", Identity: NewIdentity(name), Leases: p.client, Changed: func() {},
		Lost: func(shard int) {
			time.Sleep(50 * time.Millisecond) // time until reads end
			if g.store.Holder(fmt.Sprintf("gpureceiver-shard-%d-of-%d", shard, shards)) == "" {
				g.mu.Lock()
				g.early++
				g.mu.Unlock()
			}
			p.lost <- shard
		},
	})
	p.client.Set(usual)
	ctx, cancel := context.WithCancel(g.t.Context())
	p.cancel = cancel
	go func() {
		defer close(p.ended)
		p.Run(ctx)
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = append(g.processes, p)
	return p
}

// kill ends a process without a clean shutdown.
func (g *group) kill(p *process) {
	g.mu.Lock()
	p.killed = true
	g.mu.Unlock()
	p.client.Set(shardtest.Trouble{Fail: errors.New("killed")})
	p.cancel()
	<-p.ended
}

// nodeOf returns the name of a node in a shard.
func nodeOf(shard, shards int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("node-%d", i); shardOf(name, shards) == shard {
			return name
		}
	}
}

// watch observes all replicas for a time. It measures how long a shard is without a holder, and checks that it never has two.
func (g *group) watch(d time.Duration) {
	g.longest = 0
	for range d / step {
		time.Sleep(step)
		g.mu.Lock()
		for shard := range g.shards {
			holders := 0
			for _, p := range g.processes {
				if !p.killed && p.Holds(g.nodes[shard]) {
					holders++
				}
			}
			if holders > 1 {
				g.twice++
			}
			if holders > 0 {
				g.orphaned[shard] = 0
				continue
			}
			g.orphaned[shard] += step
			g.longest = max(g.longest, g.orphaned[shard])
		}
		g.mu.Unlock()
	}
}

// parts returns the number of shards each replica holds, in ascending order.
func (g *group) parts() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	var parts []int
	for _, p := range g.processes {
		if !p.killed && p.ended != nil {
			parts = append(parts, len(p.Status().Held))
		}
	}
	slices.Sort(parts)
	return parts
}

func (g *group) leave(p *process) {
	p.cancel()
	<-p.ended
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = slices.DeleteFunc(g.processes, func(other *process) bool { return other == p })
}

func (g *group) end() {
	g.mu.Lock()
	processes := slices.Clone(g.processes)
	g.mu.Unlock()
	for _, p := range processes {
		p.cancel()
	}
	for _, p := range processes {
		<-p.ended
	}
	assert.Zero(g.t, g.early, "released too early")
	synctest.Wait()
}
