// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/runtimes"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

const (
	// lookupTime bounds the queries of the runtimes in one read, for all of its containers.
	lookupTime = time.Second
	// retryLookup is how many reads pass before a runtime is queried again for a container that no runtime knew or that could not be looked
	// up.
	retryLookup = 8
)

// runtimeContainers keeps what the runtimes know of containers, while they have a process on a device. A container is looked up once: its
// name stays as it was first known, so that the attributes of its resource do not change. A nil one describes nothing.
type runtimeContainers struct {
	finder finder
	pool   workers.Pool
	task   *workers.Task
	limit  time.Duration // of the lookups of one read

	read  uint64        // number of the read
	left  time.Duration // of the limit in this read
	known map[string]*runtimeContainer
}

// finder is runtimes.Runtimes.
type finder interface {
	Find(ctx context.Context, id string) (*runtimes.Description, error)
}

// runtimeContainer is the outcome of the last lookup of a container.
type runtimeContainer struct {
	description *runtimes.Description // nil if no runtime knows it
	err         error
	looked      uint64 // the read of the last lookup
	read        uint64 // the last read that had it
}

// lookup is what one call returns.
type lookup struct {
	description *runtimes.Description
	err         error
}

func newRuntimeContainers(finder finder, limit time.Duration) *runtimeContainers {
	r := &runtimeContainers{finder: finder, limit: limit, known: make(map[string]*runtimeContainer)}
	r.task = r.pool.NewTask(nil)
	return r
}

// begin starts a read, and forgets the containers that were not there for keepContainers reads.
func (r *runtimeContainers) begin(read uint64) {
	if r == nil {
		return
	}
	r.read, r.left = read, r.limit
	maps.DeleteFunc(r.known, func(_ string, c *runtimeContainer) bool { return c.read+keepContainers < read })
}

// describe sets what a runtime knows of a container in no pod and no guest.
func (r *runtimeContainers) describe(c *gpu.Container) {
	if r == nil || c.ID == "" || c.PodUID != "" || c.PodName != "" || c.RuntimeName != "" {
		return
	}
	known := r.known[c.ID]
	if known == nil || (known.description == nil && known.looked+retryLookup <= r.read) {
		known = r.lookUp(c.ID)
		r.known[c.ID] = known
	}
	known.read = r.read
	if d := known.description; d != nil {
		c.Runtime, c.RuntimeName, c.ImageName, c.ImageTags, c.Labels = d.Runtime, d.Name, d.ImageName, d.ImageTags, d.Labels
	}
}

// lookUp queries the runtimes. If the time is over, the next read queries them.
func (r *runtimeContainers) lookUp(id string) *runtimeContainer {
	if r.left <= 0 {
		return &runtimeContainer{err: errors.New("the lookup of containers takes too long; the others are looked up at the next read")}
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), r.left)
	defer cancel()
	var result lookup // a call that hangs may write it after its turn, when it is no longer read
	r.pool.Run(ctx, workers.Job{Task: r.task, Func: func() { result.description, result.err = r.finder.Find(ctx, id) }})
	r.left -= time.Since(start)
	if r.task.Outcome() != workers.Done {
		r.left = 0 // one container that waits delays a read once
		return &runtimeContainer{looked: r.read, err: fmt.Errorf("look up containers: no answer within %s", r.limit)}
	}
	return &runtimeContainer{description: result.description, err: result.err, looked: r.read}
}

// err returns why containers of this read could not be looked up, each reason once.
func (r *runtimeContainers) err() error {
	if r == nil {
		return nil
	}
	reasons := make(map[string]error)
	for _, c := range r.known {
		if c.err != nil && c.read == r.read {
			reasons[c.err.Error()] = c.err
		}
	}
	const most = 4
	var errs []error
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if len(errs) == most {
			break
		}
		errs = append(errs, reasons[reason])
	}
	return errors.Join(errs...)
}
