// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"maps"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// reconcile starts and ends reads so that they match the nodes and pods of the cluster.
func (c *cluster) reconcile(ctx context.Context) {
	s, ready := c.snapshot()
	if ready {
		c.follow(ctx, c.ours(s.plan()))
	}
	c.problems(c.name, c.currentProblems(s, ready))
}

// follow starts the reads of new nodes, changes the plans of others, and ends the reads of those that are gone. A node that
// cannot be read for a while, as when its driver pod restarts, keeps its readers and what they remember.
func (c *cluster) follow(ctx context.Context, plans map[string]*plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.running {
		if p := plans[name]; p != nil {
			n.set(p)
		} else {
			n.cancel() // ended removes it
		}
	}
	for name, p := range plans {
		if c.running[name] != nil || !c.mine(name) { // again: the shard may have been lost meanwhile
			continue
		}
		n := newNode(c, name, p)
		own, cancel := context.WithCancel(ctx)
		n.cancel = cancel
		c.running[name] = n
		c.reading.Go(func() {
			defer cancel()
			n.run(own)
			c.ended(ctx, n)
		})
	}
}

// ended removes a node after its last read. Only then may its reads start again.
func (c *cluster) ended(ctx context.Context, n *node) {
	n.close()
	if ctx.Err() == nil {
		c.nodeGone(ctx, c.name, n.name, !c.mine(n.name))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, n.name)
	close(n.done)
	c.changed()
}

// snapshot returns what the informers have listed. It is not ready before a first list: until then it is unknown which nodes to read. Nodes have to be
// listed only if a node selector is configured.
func (c *cluster) snapshot() (*clusterSnapshot, bool) {
	s := &clusterSnapshot{targets: c.targets, selected: c.selected, complete: c.nodes.HasSynced(), nodes: make(map[string]*knownNode)}
	ready := c.nodes.HasSynced() || !s.selected
	listed := false
	for _, informer := range c.pods {
		var pods []*driverPod
		if informer.HasSynced() {
			listed = true
			for _, object := range informer.GetStore().List() {
				if pod, ok := object.(*driverPod); ok {
					pods = append(pods, pod)
				}
			}
		} else {
			s.complete = false // a pod that is not yet listed is not missing
		}
		s.pods = append(s.pods, pods)
	}
	for _, object := range c.nodes.GetStore().List() {
		if node, ok := object.(*knownNode); ok {
			s.nodes[node.Name] = node
		}
	}
	s.toolless = c.keepToolless(s.pods)
	return s, ready && listed
}

// keepToolless forgets the containers in which a tool was not found and that do not run any more, and returns the others.
func (c *cluster) keepToolless(pods [][]*driverPod) map[instance]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.toolless) == 0 {
		return nil
	}
	runs := make(map[instance]bool)
	for i, targetPods := range pods {
		for _, pod := range targetPods {
			for _, container := range pod.containers {
				runs[instance{c.targets[i].Tool, container.id}] = true
			}
		}
	}
	maps.DeleteFunc(c.toolless, func(key instance, _ bool) bool { return !runs[key] })
	return maps.Clone(c.toolless)
}

// currentProblems returns what cannot be read in the cluster, except nodes, which Sink gets.
func (c *cluster) currentProblems(s *clusterSnapshot, ready bool) []gpu.Problem {
	var problems []gpu.Problem
	failed := false
	for i, informer := range c.pods {
		if err := informer.Err(); err != nil {
			failed = true
			problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: fmt.Sprintf("driver pods of target %d", i), Err: c.podsError(i, err)})
		}
		failed = failed || !informer.HasSynced()
	}
	if err := c.nodes.Err(); err != nil {
		problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "nodes", Err: c.wrap(err)})
	}
	if c.election != nil {
		if err := c.election.Err(); err != nil {
			problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "leader election", Err: c.wrap(err)})
		}
	}
	if c.view != nil {
		for _, p := range c.view.Problems() {
			problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "attribution: " + p.What, Err: c.wrap(p.Err)})
		}
	}
	if !ready {
		return problems
	}
	if !failed {
		for _, err := range s.emptyTargets() {
			problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "driver pods", Err: c.wrap(err)})
		}
	}
	return problems
}

// differ reports whether the kept part of an object has changed. Every few minutes a node's status is written only to renew its
// times.
func differ(before, after any) bool {
	if a, ok := before.(*knownNode); ok {
		b, ok := after.(*knownNode)
		return !ok || !maps.Equal(a.vendors, b.vendors) || !maps.Equal(a.labels, b.labels)
	}
	return true
}
