// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// cluster reads the nodes of one cluster. Clusters share nothing, so an outage of one does not affect the others.
type cluster struct {
	name     string
	interval time.Duration
	timeout  time.Duration
	want     gpu.Group
	now      func() time.Time
	sink     Sink
	nodeGone func(ctx context.Context, cluster, node string, byAnother bool)
	problems func(cluster string, problems []gpu.Problem)
	report   func(ctx context.Context, cluster string, now time.Time, failure *gpu.Failure)

	executor exec.Executor
	targets  []TargetConfig
	pods     []*kube.Informer // of each target
	nodes    *kube.Informer
	view     *kube.View      // nil if processes are not to be attributed
	named    chan struct{}   // closed when pods have names (awaitNames); nil if they never have
	selected bool            // a node selector is configured
	election *shard.Election // nil if all nodes are read
	ending   chan struct{}   // closed when the shutdown does not wait for reads any longer

	tokens    chan struct{} // max_concurrent of them
	throttled atomic.Int64
	skipped   atomic.Int64
	dirty     chan struct{} // a pod, a node or a shard has changed
	reading   sync.WaitGroup

	mu       sync.Mutex // guards what follows
	paused   time.Time  // no exec before
	running  map[string]*node
	toolless map[instance]bool // the running containers in which the tool was not found
	state    clusterState
}

// newBareCluster returns a cluster without clients of its API.
func newBareCluster(name string, config *Config, options *Options) *cluster {
	return &cluster{
		name: name, interval: options.Interval, timeout: options.Timeout, want: options.Want, now: time.Now,
		sink: options.Sink, nodeGone: options.Gone, problems: options.Problems, report: options.State,
		targets: config.targets(), selected: config.NodeSelector != "",
		tokens: make(chan struct{}, config.MaxConcurrent), dirty: make(chan struct{}, 1), ending: make(chan struct{}), running: make(map[string]*node),
		toolless: make(map[instance]bool),
	}
}

func (c *cluster) changed() {
	select {
	case c.dirty <- struct{}{}:
	default:
	}
}

// admit waits until another node may be read. It returns false when the context has ended.
func (c *cluster) admit(ctx context.Context) bool {
	if c.named != nil {
		select {
		case <-ctx.Done():
			return false
		case <-c.named:
		}
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case c.tokens <- struct{}{}:
		}
		c.mu.Lock()
		wait := c.paused.Sub(c.now())
		c.mu.Unlock()
		if wait <= 0 {
			return true
		}
		<-c.tokens
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

func (c *cluster) leave() { <-c.tokens }

// pauseIfAsked stops all reads of the cluster for the time that the API server asks for.
func (c *cluster) pauseIfAsked(err error) {
	wait, throttled := exec.Throttled(err)
	if !throttled {
		return
	}
	c.throttled.Add(1)
	until := c.now().Add(wait)
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.paused) {
		c.paused = until
	}
}

// noteTool notes whether the tool was found in a container. If the node has another pod, that pod is then used.
func (c *cluster) noteTool(key instance, missing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.toolless[key] == missing {
		return
	}
	if missing {
		c.toolless[key] = true
	} else {
		delete(c.toolless, key)
	}
	c.changed()
}

// mine reports whether this replica reads a node.
func (c *cluster) mine(node string) bool { return c.election == nil || c.election.Holds(node) }

// stats returns the state of the reads.
func (c *cluster) stats() ClusterStats {
	s := ClusterStats{Name: c.name, Throttled: c.throttled.Load(), Skipped: c.skipped.Load()}
	if c.election != nil {
		status := c.election.Status()
		s.Election = &status
	}
	c.mu.Lock()
	nodes := slices.Collect(maps.Values(c.running))
	s.Known, s.Failure, s.LastGood = c.state.known, c.state.failure, c.state.good
	c.mu.Unlock()
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, n.allStats()...)
	}
	slices.SortFunc(s.Nodes, func(a, b NodeStats) int {
		if a.Node != b.Node {
			return strings.Compare(a.Node, b.Node)
		}
		return strings.Compare(string(a.Vendor), string(b.Vendor))
	})
	return s
}

func (c *cluster) wrap(err error) error {
	return fmt.Errorf("kubernetes_exec: cluster %s: %w", c.name, err)
}
