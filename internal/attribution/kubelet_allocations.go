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
	// keepAllocations is how long the last allocations count while the kubelet does not answer: nothing is allocated without the
	// kubelet, but what it takes back after it returned is not seen.
	keepAllocations = 5 * time.Minute
	// restartTime is how long a restarted kubelet may take to know its allocations again. At first it answers as if there were no
	// pods, until it has read them from the API server, and then as if they had no devices.
	restartTime = 30 * time.Second
	// startTime is how long the answers of a kubelet that has just started may lack allocations, if no earlier ones are known. Devices that
	// they lack would be reported as unallocated. A kubelet takes about a second.
	startTime = 10 * time.Second
)

// coverage is how much of what is allocated is known.
type coverage int

const (
	noneKnown coverage = iota
	someKnown
	allKnown
)

// lister is the kubelet's PodResources API.
type lister interface {
	List(ctx context.Context) (podresources.Answer, error)
	Close() error
}

// kubeletAllocations asks the kubelet for its allocations and remembers the last ones.
type kubeletAllocations struct {
	client lister

	last       []podresources.Allocation
	read       time.Time // when the kubelet last knew all allocations that it had listed before
	connection uint64
	restarted  time.Time // when the kubelet was restarted; zero after it knows its allocations again
}

// list returns the allocations, and how many of them are known. The error says why the kubelet did not answer; the last allocations may
// replace the answer.
func (k *kubeletAllocations) list(ctx context.Context, now time.Time) ([]podresources.Allocation, coverage, error) {
	remembered := !k.read.IsZero() && now.Sub(k.read) <= keepAllocations
	answer, err := k.client.List(ctx)
	if err != nil {
		if remembered {
			return k.last, allKnown, err
		}
		k.last = nil
		return nil, noneKnown, err
	}
	if k.connection != 0 && k.connection != answer.Connection {
		k.restarted = now
	}
	k.connection = answer.Connection
	if !remembered && hasJustStarted(&answer, now) {
		k.last = nil
		return answer.Allocations, someKnown, nil
	}
	if missing := k.missing(&answer, now); len(missing) > 0 {
		k.last = append(slices.Clip(answer.Allocations), missing...)
		return k.last, allKnown, nil
	}
	k.restarted = time.Time{}
	k.last, k.read = answer.Allocations, now
	return k.last, allKnown, nil
}

// hasJustStarted reports whether the kubelet has started shortly before a read, or during it. A start far in the future shows that the
// clock was set back, and proves nothing.
func hasJustStarted(answer *podresources.Answer, now time.Time) bool {
	return now.Sub(answer.Started).Abs() < startTime
}

// missing returns the earlier allocations that a restarted kubelet does not know yet. An answer without any pod is doubted longer than
// one with some.
func (k *kubeletAllocations) missing(answer *podresources.Answer, now time.Time) []podresources.Allocation {
	if k.restarted.IsZero() || now.Sub(k.read) > keepAllocations ||
		(answer.Pods > 0 && now.Sub(k.restarted) > restartTime) {
		return nil
	}
	var missing []podresources.Allocation
	for i := range k.last {
		if !slices.ContainsFunc(answer.Allocations, func(a podresources.Allocation) bool { return supersedes(&a, &k.last[i]) }) {
			missing = append(missing, k.last[i])
		}
	}
	return missing
}

// supersedes reports whether an allocation shows that the kubelet knows again what became of an older one: it is of the same pod or of
// the same device. A kubelet learns of plugins' devices and of dynamic ones at different times.
func supersedes(a, older *podresources.Allocation) bool {
	if (a.Dynamic == nil) != (older.Dynamic == nil) {
		return false
	}
	if a.Namespace == older.Namespace && a.Pod == older.Pod {
		return true
	}
	return a.Dynamic == nil && a.Resource == older.Resource && a.ID == older.ID
}
