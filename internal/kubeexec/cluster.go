// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// settle is the pause after a change in which further changes are collected: at the start each pod is one.
const settle = 100 * time.Millisecond

// firstReport is when problems are reported for the first time: a wrong address should be known before the first interval ends.
const firstReport = 3 * time.Second

// cluster reads the nodes of one cluster. Clusters share nothing, so an outage of one does not affect the others.
type cluster struct {
	name     string
	interval time.Duration
	timeout  time.Duration
	want     gpu.Group
	now      func() time.Time
	sink     Sink
	gone     func(cluster, node string)
	problems func(cluster string, problems []gpu.Problem)

	executor exec.Executor
	targets  []TargetConfig
	pods     []*kube.Informer // of each target
	nodes    *kube.Informer
	view     *kube.View      // nil where processes are not to be attributed
	named    chan struct{}   // closed when pods have names (awaitNames); nil where they never have
	selected bool            // a node selector is configured
	election *shard.Election // nil where all nodes are read
	ending   chan struct{}   // closed when the shutdown does not wait for reads any longer

	tokens    chan struct{} // max_concurrent of them
	throttled atomic.Int64
	skipped   atomic.Int64
	dirty     chan struct{} // a pod, a node or a shard has changed
	reading   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	paused  time.Time  // no exec before
	running map[string]*node
	unread  []unread
}

// newCluster prepares the reads of a cluster. It sends no request to the API server; run does.
func newCluster(config *Config, i int, options *Options) (*cluster, error) {
	cc := &config.Clusters[i]
	rest, err := cc.API.REST()
	if err != nil {
		return nil, err
	}
	clients, err := kube.NewClients(rest)
	if err != nil {
		return nil, err
	}
	c := newBareCluster(cc.Name, config, options)
	c.executor = exec.NewClient(rest, clients.Kubernetes.CoreV1().RESTClient())
	for i := range c.targets {
		informer, err := newDriverPods(clients.Kubernetes, &c.targets[i])
		if err != nil {
			return nil, err
		}
		c.pods = append(c.pods, informer)
	}
	if c.nodes, err = newNodes(clients.Kubernetes, config); err != nil {
		return nil, err
	}
	if config.AttributePods {
		c.named = make(chan struct{})
		c.view, err = kube.NewView(clients, kube.ViewOptions{
			Pods:  kube.PodsOptions{Labels: config.Owners.Labels, Annotations: config.Owners.Annotations},
			Kinds: config.Owners.Kinds,
		})
		if err != nil {
			return nil, err
		}
	}
	if e := config.leaderElection(); e != nil {
		if c.election, err = c.newElection(rest, e, config.Shards); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// newBareCluster returns a cluster without clients of its API.
func newBareCluster(name string, config *Config, options *Options) *cluster {
	return &cluster{
		name: name, interval: options.Interval, timeout: options.Timeout, want: options.Want, now: time.Now,
		sink: options.Sink, gone: options.Gone, problems: options.Problems,
		targets: config.targets(), selected: config.NodeSelector != "",
		tokens: make(chan struct{}, config.MaxConcurrent), dirty: make(chan struct{}, 1), ending: make(chan struct{}), running: make(map[string]*node),
	}
}

// run watches the cluster's pods and nodes, and reads its nodes, until the context ends.
func (c *cluster) run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.changed() },
		UpdateFunc: func(before, after any) {
			if differ(before, after) {
				c.changed()
			}
		},
		DeleteFunc: func(any) { c.changed() },
	}
	for _, informer := range append(slices.Clone(c.pods), c.nodes) {
		if _, err := informer.AddEventHandler(handler); err != nil {
			c.problems(c.name, []gpu.Problem{{Kind: gpu.ProblemKubernetes, What: "informer", Err: c.wrap(err)}})
		}
		watching.Go(func() { informer.RunWithContext(ctx) })
	}
	if c.view != nil {
		c.view.Start()
		defer c.view.Stop()
		watching.Go(func() { c.awaitNames(ctx) })
	}
	defer c.elect(ctx)()
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	first := time.NewTimer(firstReport)
	defer first.Stop()
	for {
		c.reconcile(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-first.C:
		case <-c.dirty:
			timer := time.NewTimer(settle)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
		}
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

// throttledExecutor passes the error of every exec to failed. An exec that fails may be a part of a read that succeeds, whose
// error becomes a problem of the node only.
type throttledExecutor struct {
	exec.Executor
	failed func(error)
}

// Exec implements exec.Executor.
func (e throttledExecutor) Exec(ctx context.Context, in exec.Container, argv []string, out *exec.Output) (int, error) {
	code, err := e.Executor.Exec(ctx, in, argv, out)
	if err != nil {
		e.failed(err)
	}
	return code, err
}

// pauseIfAsked stops all reads of the cluster for the time that the API server asks for.
func (c *cluster) pauseIfAsked(err error) {
	wait, asked := exec.Throttled(err)
	if !asked {
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
