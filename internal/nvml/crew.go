// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"sync/atomic"
	"time"
)

// patience is how long jobs are left to one goroutine before those that wait get goroutines of their own. A driver that
// answers at once is swept by one goroutine, without a switch between; one that is slow is asked side by side.
const patience = 500 * time.Microsecond

// crew does jobs of which any may never end.
type crew struct {
	outstanding atomic.Int64 // jobs that have not ended, of all batches; those that are never begun are not among them
	slow        bool         // the last batch took longer than patience
	idle        func()       // called by the goroutine whose job was the last outstanding one
}

type batch struct {
	next  atomic.Int64
	left  atomic.Int64
	done  chan struct{} // closed when all jobs have ended
	ended []atomic.Bool
}

// do runs jobs 0 to n-1, and returns when all have ended or the context has. It tells how many were begun, and of each
// whether it has ended. A job that was not begun by then never is.
func (c *crew) do(ctx context.Context, n int, job func(int)) (begun int, ended []atomic.Bool) {
	if n == 0 {
		return 0, nil
	}
	b := &batch{done: make(chan struct{}), ended: make([]atomic.Bool, n)}
	b.left.Store(int64(n))
	c.outstanding.Add(int64(n))
	worker := func() {
		for {
			i := b.next.Add(1) - 1
			if i >= int64(n) {
				return
			}
			job(int(i))
			b.ended[i].Store(true)
			rest := c.outstanding.Add(-1)
			if b.left.Add(-1) == 0 {
				close(b.done)
			}
			if rest == 0 && c.idle != nil {
				c.idle()
			}
		}
	}
	workers := 1
	if c.slow {
		workers = n
	}
	for range workers {
		go worker()
	}

	began := time.Now()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-b.done:
			c.slow = time.Since(began) > patience
			return n, b.ended
		case <-timer.C:
			for ; workers < n && b.next.Load() < int64(n); workers++ {
				go worker()
			}
		case <-ctx.Done():
			c.slow = true
			begun := min(b.next.Swap(int64(n)), int64(n))
			c.outstanding.Add(begun - int64(n))
			return int(begun), b.ended
		}
	}
}
