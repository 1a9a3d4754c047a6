// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

const interval = 30 * time.Second

// counting wraps a fleet's machines and counts how many are read at a time.
type counting struct {
	mu       sync.Mutex
	busy     map[string]int
	most     int
	all      int
	reads    map[string][]time.Time
	takes    time.Duration
	failing  map[string]error
	overlaps int
}

func (c *counting) Exec(ctx context.Context, container exec.Container, argv []string, out *exec.Output) (int, error) {
	c.mu.Lock()
	c.busy[container.Pod]++
	c.all++
	c.most = max(c.most, c.all)
	if c.busy[container.Pod] > 1 {
		c.overlaps++
	}
	if len(argv) < 10 || !slices.Contains([]string{"--help-query-gpu", "-x"}, argv[len(argv)-1]) { // queried once
		c.reads[container.Pod] = append(c.reads[container.Pod], time.Now())
	}
	err, takes := c.failing[container.Pod], c.takes
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy[container.Pod]--
		c.all--
	}()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(takes):
	}
	if err != nil {
		return 0, err
	}
	m := exectest.Machine{UUID: "GPU-" + container.Pod}
	return m.Box()(argv, out.Stdout(), io.Discard, ctx.Done())
}

func (c *counting) times(pod string) []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Time(nil), c.reads[pod]...)
}

// sunk records what a Sink received, by node.
type sunk struct {
	mu       sync.Mutex
	good     map[string]int
	failed   map[string]int
	nodes    map[string]gpu.Node
	unread   map[string]gpu.Node
	errs     map[string]error
	removals []string
}

func newSunk() *sunk {
	return &sunk{good: map[string]int{}, failed: map[string]int{}, nodes: map[string]gpu.Node{}, unread: map[string]gpu.Node{}, errs: map[string]error{}}
}

func (s *sunk) sink(_ context.Context, cluster string, node *gpu.Node, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := cluster + "/" + node.Host.NodeName
	s.errs[key] = err
	if err != nil {
		s.failed[key]++
		s.unread[key] = *node
		return
	}
	s.good[key]++
	copied := *node
	copied.Devices = append([]gpu.Device(nil), node.Devices...)
	copied.Processes = append([]gpu.Process(nil), node.Processes...)
	copied.Containers = append([]gpu.ContainerUse(nil), node.Containers...)
	copied.Problems = append([]gpu.Problem(nil), node.Problems...)
	s.nodes[key] = copied
}

func (s *sunk) leave(_ context.Context, cluster, node string, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals = append(s.removals, cluster+"/"+node)
}

// left returns the nodes that the Sink was informed are gone.
func (s *sunk) left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.removals)
}

// unreadOf returns the last node of a read that failed.
func (s *sunk) unreadOf(key string) gpu.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unread[key]
}

// state returns the numbers of good and failed reads of a node, and the last good one.
func (s *sunk) state(key string) (good, failed int, node gpu.Node, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.good[key], s.failed[key], s.nodes[key], s.errs[key]
}

// bare returns a cluster without a network, and plans for its nodes.
func bare(maxConcurrent, nodes int) (*cluster, *counting, *sunk, map[string]*plan) {
	config := DefaultConfig()
	config.MaxConcurrent = maxConcurrent
	s := newSunk()
	c := newBareCluster("c", &config, &Options{
		Interval: interval, Timeout: interval, Want: gpu.GroupAll, Sink: s.sink, Gone: s.leave,
		Problems: func(string, []gpu.Problem) {}, State: func(context.Context, string, time.Time, *gpu.Failure) {},
	})
	machines := &counting{busy: map[string]int{}, reads: map[string][]time.Time{}, failing: map[string]error{}, takes: 100 * time.Millisecond}
	c.executor = machines
	plans := map[string]*plan{}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		plans[name] = planOf(c, name, "first")
	}
	return c, machines, s, plans
}

func planOf(c *cluster, name, instance string) *plan {
	return &plan{jobs: []job{{target: &c.targets[0], container: exec.Container{Namespace: defaultNamespace, Pod: name, Name: driverContainer, ID: instance}}}}
}

// withoutPod is the plan of a node with GPUs and without a driver pod.
func withoutPod(name string) *plan {
	return &plan{unread: []unreadVendor{{name, gpu.NVIDIA, errNoPod}}}
}

func running(c *cluster) map[string]*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.running)
}

func (c *counting) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

func (c *counting) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}
