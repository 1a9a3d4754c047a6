// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// node reads one node in a goroutine of its own, so two reads of a node never overlap.
type node struct {
	cluster *cluster
	name    string
	slots   slots
	changed chan struct{} // the plan has changed
	cancel  context.CancelFunc
	done    chan struct{} // closed after the last read and its cleanup

	mu    sync.Mutex // guards what follows
	plan  *plan
	stats map[gpu.Vendor]*NodeStats

	// Used by run only.
	readers map[readerKey]*reader
	known   map[gpu.Vendor][]gpu.Device // without readings
	errs    map[gpu.Vendor]error        // of the last read; nil if it brought a node
}

func newNode(c *cluster, name string, p *plan) *node {
	return &node{
		cluster: c, name: name, slots: newSlots(c.interval, c.name, name), changed: make(chan struct{}, 1), done: make(chan struct{}),
		plan:  p,
		stats: make(map[gpu.Vendor]*NodeStats), readers: make(map[readerKey]*reader),
		known: make(map[gpu.Vendor][]gpu.Device), errs: make(map[gpu.Vendor]error),
	}
}

// set changes the plan. Another container ends a back-off.
func (n *node) set(p *plan) {
	n.mu.Lock()
	defer n.mu.Unlock()
	same := n.plan.same(p)
	n.plan = p
	if same {
		return
	}
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
	var due time.Time // no exec before, because of a back-off
	for {
		now := c.now()
		timer := time.NewTimer(n.slots.next(now).Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-n.changed:
			timer.Stop()
			due = time.Time{}
			continue
		case <-timer.C:
		}
		if p := n.planned(); len(p.jobs) == 0 {
			last = c.now() // counted as unreadable, not as skipped
			n.cannotRead(ctx, p)
			continue
		}
		if c.now().Before(due) {
			n.repeat(ctx, n.planned())
			continue
		}
		if !c.admit(ctx) {
			return
		}
		p := n.planned() // again: the wait may have been long
		if len(p.jobs) == 0 || !c.mine(n.name) {
			c.leave()
			last = c.now()
			continue
		}
		start := c.now()
		c.skipped.Add(max(0, int64((start.Sub(last)+c.interval/2)/c.interval)-1))
		last = start
		for i := range p.jobs {
			n.read(ctx, p, &p.jobs[i])
		}
		c.leave()
		n.cannotRead(ctx, p)
		due = c.now().Add(pause(c.interval, n.failures()))
	}
}

func (n *node) host(p *plan) gpu.Host {
	return gpu.Host{NodeName: n.name, ClusterName: n.cluster.name, Labels: p.labels}
}

// failures is the number of failed reads in a row of the vendor that has the fewest: the others are read along with it.
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

// read reads one vendor's GPUs and passes them on.
func (n *node) read(ctx context.Context, p *plan, j *job) {
	c := n.cluster
	start := c.now()
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	read, err := n.reader(j).read(bounded, j.container, n.host(p))
	if ctx.Err() != nil {
		return // an interrupted read says nothing
	}
	if err != nil {
		read = n.unread(p, j.vendor(), start)
	} else {
		n.remember(read)
	}
	if errors.As(err, new(*fault)) {
		delete(n.readers, j.reader()) // its state may be inconsistent
	}
	c.noteTool(instance{j.target.Tool, j.container.ID}, lacksTool(read, err))
	n.note(j.vendor(), start, read, err)
	n.errs[j.vendor()] = err
	c.sink(ctx, c.name, read, err)
}

func (n *node) note(vendor gpu.Vendor, start time.Time, read *gpu.Node, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.stats[vendor]
	if s == nil {
		s = &NodeStats{Node: n.name, Vendor: vendor}
		n.stats[vendor] = s
	}
	s.note(start, n.cluster.now().Sub(start), read, err)
}

// reader returns the reader of a job, made at first use.
func (n *node) reader(j *job) *reader {
	key := j.reader()
	r := n.readers[key]
	if r == nil {
		var users *attribution.Attributor
		if c := n.cluster; c.view != nil {
			users = attribution.NewRemote(c.view, c.interval)
		}
		r = newReader(n.cluster, j.target, users)
		n.readers[key] = r
	}
	return r
}

// close releases the readers after the last read.
func (n *node) close() {
	for _, r := range n.readers {
		_ = r.source.Close() // tools hold nothing between reads
	}
}

// allStats returns the state of the reads of each vendor's GPUs.
func (n *node) allStats() []NodeStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []NodeStats
	add := func(vendor gpu.Vendor, unreadable string) {
		s := NodeStats{Node: n.name, Vendor: vendor}
		if before := n.stats[vendor]; before != nil {
			s = *before
		}
		s.Unreadable = unreadable
		all = append(all, s)
	}
	for i := range n.plan.jobs {
		add(n.plan.jobs[i].vendor(), "")
	}
	for i := range n.plan.unread {
		add(n.plan.unread[i].vendor, n.plan.unread[i].reason.Error())
	}
	return all
}

// lacksTool reports whether the tool was not found in the container.
func lacksTool(read *gpu.Node, err error) bool {
	return errors.Is(err, command.ErrNotFound) || read.Failure != nil && read.Failure.Reason == gpu.FailureToolMissing
}
