// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
)

// keepAllocations is for how long the last allocations are taken as they were while the kubelet does not answer: nothing
// is allocated without it, but what it takes back when it is there again is not seen.
const keepAllocations = 5 * time.Minute

// lister is the kubelet's PodResources API.
type lister interface {
	List(ctx context.Context) ([]podresources.Allocation, error)
	Close() error
}

// allocations asks the kubelet, and remembers what it said last.
type allocations struct {
	kubelet  lister
	resolver dynamicResolver

	last []podresources.Allocation
	read time.Time
}

// list returns what is allocated, and whether that is known. The problem is told in either case.
func (a *allocations) list(ctx context.Context, now time.Time) ([]podresources.Allocation, bool, error) {
	list, err := a.kubelet.List(ctx)
	if err == nil {
		a.last, a.read = list, now
		return list, true, nil
	}
	if a.read.IsZero() || now.Sub(a.read) > keepAllocations {
		a.last = nil
		return nil, false, err
	}
	return a.last, true, err
}
