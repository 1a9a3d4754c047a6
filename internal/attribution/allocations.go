// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
)

const (
	// keepAllocations is for how long the last allocations are taken as they were while the kubelet does not answer:
	// nothing is allocated without it, but what it takes back when it is there again is not seen.
	keepAllocations = 5 * time.Minute
	// settleAllocations is how long a kubelet that was restarted may take to know again what it had allocated. At first it
	// answers as if there were no pods, until it has read them from the API server, and then as if they had no devices.
	settleAllocations = 30 * time.Second
	// newKubelet is how long one that has just started is not believed in what it does not say, where nothing is known from
	// before: what it does not know again yet would be told as not allocated. It takes about a second.
	newKubelet = 10 * time.Second
)

// extent is how much of what is allocated is known.
type extent int

const (
	nothing extent = iota
	some
	everything
)

// lister is the kubelet's PodResources API.
type lister interface {
	List(ctx context.Context) (podresources.Answer, error)
	Close() error
}

// allocations asks the kubelet, and remembers what it said last.
type allocations struct {
	kubelet  lister
	resolver dynamicResolver

	last       []podresources.Allocation
	read       time.Time // when the kubelet last knew all that it had said before
	connection uint64
	restarted  time.Time // when the kubelet was restarted; zero when it knows again what it knew before
}

// list returns what is allocated, and how much of it is known. The problem is told in either case.
func (a *allocations) list(ctx context.Context, now time.Time) ([]podresources.Allocation, extent, error) {
	remembered := !a.read.IsZero() && now.Sub(a.read) <= keepAllocations
	answer, err := a.kubelet.List(ctx)
	if err != nil {
		if remembered {
			return a.last, everything, err
		}
		a.last = nil
		return nil, nothing, err
	}
	if a.connection != 0 && a.connection != answer.Connection {
		a.restarted = now
	}
	a.connection = answer.Connection
	if !remembered && isNew(&answer, now) {
		a.last = nil
		return answer.Allocations, some, nil
	}
	if missing := a.missing(&answer, now); len(missing) > 0 {
		a.last = append(slices.Clip(answer.Allocations), missing...)
		return a.last, everything, nil
	}
	a.restarted = time.Time{}
	a.last, a.read = answer.Allocations, now
	return a.last, everything, nil
}

// isNew tells whether the kubelet that answered has just started: also since the read began, as of which it is. Far below zero the
// clock was set back, and tells nothing.
func isNew(answer *podresources.Answer, now time.Time) bool {
	return now.Sub(answer.Started).Abs() < newKubelet
}

// missing returns what a kubelet that was restarted does not know yet of what was allocated before. A node without any pod
// is believed later than one with some.
func (a *allocations) missing(answer *podresources.Answer, now time.Time) []podresources.Allocation {
	if a.restarted.IsZero() || now.Sub(a.read) > keepAllocations ||
		(answer.Pods > 0 && now.Sub(a.restarted) > settleAllocations) {
		return nil
	}
	var missing []podresources.Allocation
	for i := range a.last {
		if !slices.ContainsFunc(answer.Allocations, func(b podresources.Allocation) bool { return supersedes(&b, &a.last[i]) }) {
			missing = append(missing, a.last[i])
		}
	}
	return missing
}

// supersedes tells whether an allocation shows that the kubelet has come to know what it knew of an older one: it is of the
// same pod, or of the same device. Devices of plugins and dynamic ones come to be known at different times.
func supersedes(b, older *podresources.Allocation) bool {
	if (b.Dynamic == nil) != (older.Dynamic == nil) {
		return false
	}
	if b.Namespace == older.Namespace && b.Pod == older.Pod {
		return true
	}
	return b.Dynamic == nil && b.Resource == older.Resource && b.ID == older.ID
}
