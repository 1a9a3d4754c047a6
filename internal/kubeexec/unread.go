// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
)

// repeat passes on in a back-off that the node could not be read the last time. Otherwise it would not be known in the meantime.
func (n *node) repeat(ctx context.Context, p *plan) {
	c := n.cluster
	for i := range p.jobs {
		vendor := p.jobs[i].vendor()
		if err := n.errs[vendor]; err != nil && ctx.Err() == nil && c.mine(n.name) {
			c.sink(ctx, c.name, n.unread(p, vendor, c.now()), err)
		}
	}
	n.cannotRead(ctx, p)
}

// cannotRead passes on that vendors' GPUs of the node cannot be read, because no pod on it can be used.
func (n *node) cannotRead(ctx context.Context, p *plan) {
	for i := range p.unread {
		if u := &p.unread[i]; ctx.Err() == nil && n.cluster.mine(n.name) {
			n.cluster.sink(ctx, n.cluster.name, n.unread(p, u.vendor, n.cluster.now()), u.failure(n.cluster.name))
		}
	}
}

// unread returns the node of a read that has brought nothing: the known GPUs, unread.
func (n *node) unread(p *plan, vendor gpu.Vendor, now time.Time) *gpu.Node {
	node := &gpu.Node{Host: n.host(p), Vendor: vendor, Time: now}
	for i := range n.known[vendor] {
		d := n.known[vendor][i]
		d.Unread, d.ProcessesUnread = true, true
		node.Devices = append(node.Devices, d)
	}
	return node
}

// remember keeps the identities of the GPUs of a read.
func (n *node) remember(read *gpu.Node) {
	if read.Failure != nil && len(read.Devices) == 0 {
		return
	}
	known := make([]gpu.Device, 0, len(read.Devices))
	for i := range read.Devices {
		known = append(known, inventory.Identity(&read.Devices[i]))
	}
	n.known[read.Vendor] = known
}
