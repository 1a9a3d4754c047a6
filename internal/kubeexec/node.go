// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

// node reads one node, in a goroutine of its own: so it is never read twice at a time.
type node struct {
	cluster *cluster
	name    string
	slots   slots
	changed chan struct{} // there is another container to read in
	cancel  context.CancelFunc
	done    chan struct{} // closed when it is not read any more, and nothing is kept of it

	mu    sync.Mutex // guards what follows
	plan  *plan
	stats map[gpu.Vendor]*NodeStats

	readings map[readingKey]*reading // of the goroutine alone
}

// readingKey is what makes a reader another one. The pod is no part of it: a reader remembers a node's GPUs over the pods.
type readingKey struct{ tool, query string }

func (j *job) reader() readingKey { return readingKey{tool: j.target.Tool, query: j.target.Query} }

// reading is one reader of a node's GPUs.
type reading struct {
	runner    *runner
	source    gpu.Source
	instance  string     // the container that it has read in
	processes *processes // nil where processes are not to be attributed
}

func newNode(c *cluster, name string, p *plan) *node {
	return &node{
		cluster: c, name: name, slots: newSlots(c.interval, c.name, name), changed: make(chan struct{}, 1), done: make(chan struct{}),
		plan:  p,
		stats: make(map[gpu.Vendor]*NodeStats), readings: make(map[readingKey]*reading),
	}
}

// set changes what is to be read. Another container ends a back-off.
func (n *node) set(p *plan) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.plan.same(p) {
		return
	}
	n.plan = p
	for _, s := range n.stats {
		s.Failures = 0
	}
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

func (n *node) planned() *plan {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.plan
}

// run reads the node in its slots until the context ends.
func (n *node) run(ctx context.Context) {
	c := n.cluster
	last := c.now()
	for {
		now := c.now()
		timer := time.NewTimer(n.slots.next(now.Add(backoff(c.interval, n.failures()))).Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-n.changed:
			timer.Stop()
			continue
		case <-timer.C:
		}
		if len(n.planned().jobs) == 0 {
			last = c.now() // that nothing can be read is told in another way
			continue
		}
		if !c.admit(ctx) {
			return
		}
		p := n.planned() // now: the wait may have been long
		if len(p.jobs) == 0 || !c.mine(n.name) {
			c.leave()
			last = c.now()
			continue
		}
		began := c.now()
		c.skipped.Add(max(0, int64((began.Sub(last)+c.interval/2)/c.interval)-1))
		last = began
		for i := range p.jobs {
			n.read(ctx, p, &p.jobs[i])
		}
		c.leave()
	}
}

// failures is how often the node failed in a row, by the vendor that fares best: the others are read along.
func (n *node) failures() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	least := -1
	for i := range n.plan.jobs {
		failures := 0
		if s := n.stats[n.plan.jobs[i].vendor()]; s != nil {
			failures = s.Failures
		}
		if least < 0 || failures < least {
			least = failures
		}
	}
	return max(least, 0)
}

// read reads one vendor's GPUs and hands them on.
func (n *node) read(ctx context.Context, p *plan, j *job) {
	c := n.cluster
	host := gpu.Host{NodeName: n.name, ClusterName: c.name, Labels: p.labels}
	r := n.reading(j)
	r.runner.use(j.in, j.instance, c.outputs.get())
	defer func() { c.outputs.put(r.runner.release()) }()

	began := c.now()
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	read, err := r.read(bounded, host, began, j)
	if ctx.Err() != nil {
		return // half a read is no news
	}
	if err != nil {
		read = &gpu.Node{Host: host, Vendor: j.vendor(), Time: began}
	}
	if errors.As(err, new(*fault)) {
		delete(n.readings, j.reader()) // what it remembers may be half of something
	}
	n.note(j.vendor(), began, read.Unread, err)
	c.sink(ctx, c.name, read, err)
}

// read reads the GPUs, and who uses them.
func (r *reading) read(ctx context.Context, host gpu.Host, began time.Time, j *job) (read *gpu.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newFault(cause, host.NodeName, j.in)
		}
	}()
	if read, err = r.source.Read(ctx); err != nil {
		return nil, err
	}
	if err := toolMissing(read); err != nil {
		return nil, err
	}
	read.Host = host
	if read.Time.IsZero() {
		read.Time = began
	}
	read.CompleteIDs()
	if r.processes != nil {
		r.processes.complete(ctx, read, r.runner, j)
	}
	return read, nil
}

// toolMissing is why a node tells nothing, not even that it has no GPU: the container that was chosen lacks the tool.
func toolMissing(read *gpu.Node) error {
	if len(read.Devices) > 0 {
		return nil
	}
	for i := range read.Problems {
		if err := read.Problems[i].Err; errors.Is(err, command.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (n *node) note(vendor gpu.Vendor, began time.Time, unread bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.stats[vendor]
	if s == nil {
		s = &NodeStats{Node: n.name, Vendor: vendor}
		n.stats[vendor] = s
	}
	s.reading(began, n.cluster.now().Sub(began), unread, err)
}

// reading returns the reader of a job, made at first use.
func (n *node) reading(j *job) *reading {
	key := j.reader()
	r := n.readings[key]
	if r == nil {
		c := n.cluster
		r = &reading{runner: &runner{executor: obedient{c.executor, c.pauseIfAsked}, tool: tools[j.target.Tool].command, now: c.now}}
		if c.view != nil {
			r.processes = newProcesses(attribution.NewRemote(c.view, c.interval), c.now)
		}
		n.readings[key] = r
	}
	if r.source == nil || r.instance != j.instance {
		n.renew(r, j)
		r.instance = j.instance
	}
	return r
}

// renew has a reader find out about its tool and its driver, which are others in another container. The GPUs are the same.
func (n *node) renew(r *reading, j *job) {
	if reader, ok := r.source.(interface{ Reset() }); ok {
		reader.Reset()
		return
	}
	switch want := n.cluster.want; j.target.Tool {
	case ToolROCmSMI:
		r.source = amdsmi.NewROCm(&amdsmi.ROCmConfig{}, r.runner, want)
	case ToolAMDSMI:
		r.source = amdsmi.NewAMD(&amdsmi.AMDConfig{}, r.runner, want)
	default:
		r.source = nvidiasmi.New(nvidiasmi.Config{Query: j.target.Query}, r.runner, want)
	}
}

// close releases the readers. Nothing of them runs any more.
func (n *node) close() {
	for _, r := range n.readings {
		_ = r.source.Close() // they hold nothing
	}
}
