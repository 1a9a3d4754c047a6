// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
)

// settle is the pause after a change in which further changes are collected: at the start each pod is one.
const settle = 100 * time.Millisecond

// firstReport is when problems are reported for the first time: a wrong address should be known before the first interval ends.
const firstReport = 3 * time.Second

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
	c.targets = config.targetsOf(i)
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
	start, due := c.now(), false
	for {
		c.reconcile(ctx)
		c.reportState(ctx, start, due)
		due = false
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			due = true
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

// awaitNames lets the reads start when the pods of the cluster and their owners have been listed, which takes seconds in a large cluster.
// In reads before that, containers would have no names and would become other series a moment later. It waits for one interval at most, and
// not while a list fails.
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
