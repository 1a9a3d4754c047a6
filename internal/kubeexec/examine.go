// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// lookAgain is how often Examine looks whether the lists are complete.
const lookAgain = 20 * time.Millisecond

// Examined is what a cluster has to be read.
type Examined struct {
	Targets  []TargetFound
	Problems []gpu.Problem // what could not be listed, and targets without pods
	Readable int           // nodes with a container in which a tool can be run
	Unread   []error       // nodes with GPUs and without one
	Reads    []NodeRead
}

// TargetFound is how many pods a target selects.
type TargetFound struct {
	TargetConfig

	Listed bool // the pods were listed; otherwise their number is unknown
	Pods   int
}

// NodeRead is one read of one vendor's GPUs of a node.
type NodeRead struct {
	Host gpu.Host
	Tool string
	Node *gpu.Node
	Err  error // there is no node
}

// Examine lists the pods and nodes of a cluster, by its index in Clusters, as the scraper does, and reads at most so many nodes once. It
// takes no Lease: other collectors go on. It ends with the context, and returns what it has found by then. An error means that a file of
// the configuration cannot be read.
func Examine(ctx context.Context, config *Config, index int, options Options, most int) (*Examined, error) {
	own := *config
	own.LeaderElection, own.Shards, own.AttributePods = nil, 1, false
	options.Sink, options.Problems = nil, nil
	c, err := newCluster(&own, index, &options)
	if err != nil {
		return nil, err
	}
	watching, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, informer := range append(slices.Clone(c.pods), c.nodes) {
		running.Go(func() { informer.RunWithContext(watching) })
	}
	c.awaitLists(ctx)
	s, ready := c.snapshot()
	found := &Examined{Problems: c.currentProblems(s, ready)}
	for i := range c.targets {
		found.Targets = append(found.Targets, TargetFound{TargetConfig: c.targets[i], Listed: c.pods[i].HasSynced(), Pods: len(s.pods[i])})
	}
	if !ready {
		return found, nil
	}
	plans := s.plan()
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		p := plans[name]
		for i := range p.unread {
			found.Unread = append(found.Unread, p.unread[i].failure(c.name))
		}
		if len(p.jobs) == 0 {
			continue
		}
		found.Readable++
		if found.Readable <= most {
			found.Reads = append(found.Reads, c.readOnce(ctx, name, p)...)
		}
	}
	return found, nil
}

// awaitLists waits until all lists have been read or have failed.
func (c *cluster) awaitLists(ctx context.Context) {
	informers := append(slices.Clone(c.pods), c.nodes)
	waits := func(informer *kube.Informer) bool { return !informer.HasSynced() && informer.Err() == nil }
	// The error is that the context has ended: what is known by then is returned.
	_ = wait.PollUntilContextCancel(ctx, lookAgain, true, func(context.Context) (bool, error) { return !slices.ContainsFunc(informers, waits), nil })
}

// readOnce reads the GPUs of a node.
func (c *cluster) readOnce(ctx context.Context, name string, p *plan) []NodeRead {
	n := newNode(c, name, p)
	defer n.close()
	var reads []NodeRead
	for i := range p.jobs {
		j := &p.jobs[i]
		bounded, cancel := context.WithTimeout(ctx, c.timeout)
		read, err := n.reader(j).read(bounded, j.container, n.host(p))
		cancel()
		reads = append(reads, NodeRead{Host: n.host(p), Tool: j.target.Tool, Node: read, Err: err})
	}
	return reads
}
