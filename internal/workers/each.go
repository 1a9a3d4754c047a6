// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxOutstanding bounds the calls of an Isolation that have not returned. Each keeps a thread.
	maxOutstanding = 64
	// patienceShare is how many calls that do not return are waited for in the time of one Each.
	patienceShare = 8
	// withoutDeadline is how long a call is waited for without a deadline.
	withoutDeadline = time.Second
)

// Isolation makes calls for processes one after the other and skips a process whose call does not return: the kernel reads some files of a
// process under a lock that a hanging driver holds. Processes are too many for a Task each. The zero Isolation is ready for use.
type Isolation struct {
	mu          sync.Mutex
	outstanding map[int64]bool // processes with a call that has not returned
}

// Each makes a call for each process, and calls take with what it returns, until take returns false or ctx ends. It returns the processes
// that were left out because a call is outstanding or ctx has ended. take runs in the goroutine of Each. call must share nothing that anything else writes,
// since it may return after Each; then its result is dropped. Only one Each may run at a time.
func Each[T any](ctx context.Context, b *Isolation, pids []int64, call func(pid int64) T, take func(pid int64, result T) bool) (unfinished []int64) {
	patience := withoutDeadline
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline) / patienceShare
	}
	for len(pids) > 0 {
		outstanding, full := b.isOutstanding(pids[0])
		if full || ctx.Err() != nil {
			return append(unfinished, pids...)
		}
		if outstanding {
			unfinished, pids = append(unfinished, pids[0]), pids[1:]
			continue
		}
		n, stuck, more := batch(ctx, b, pids, patience, call, take)
		if stuck {
			unfinished = append(unfinished, pids[n])
			n++
		} else if !more {
			return unfinished // take wants no more
		}
		pids = pids[n:]
	}
	return unfinished
}

// batch makes calls until one is outstanding that was so before, or becomes so. It returns how many have returned, whether the next one did
// not return in time, and whether to go on.
func batch[T any](
	ctx context.Context, b *Isolation, pids []int64, patience time.Duration, call func(pid int64) T, take func(int64, T) bool,
) (n int, stuck, more bool) {
	end := slices.IndexFunc(pids, func(pid int64) bool { outstanding, _ := b.isOutstanding(pid); return outstanding })
	if end < 0 {
		end = len(pids)
	}
	pids = pids[:end]
	results := make(chan T)
	quit := make(chan struct{})
	defer close(quit)
	go func() {
		for _, pid := range pids {
			b.set(pid, true)
			result := call(pid)
			b.set(pid, false)
			select {
			case results <- result:
			case <-quit:
				return
			}
		}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for n < len(pids) {
		timer.Reset(patience)
		select {
		case result := <-results:
			n++
			if !take(pids[n-1], result) {
				return n, false, false
			}
		case <-timer.C:
			return n, true, true
		case <-ctx.Done():
			return n, true, false
		}
	}
	return n, false, true
}

// Outstanding returns the number of calls that have not returned.
func (b *Isolation) Outstanding() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.outstanding)
}

// isOutstanding reports whether a call for a process is outstanding, and whether no further one may be.
func (b *Isolation) isOutstanding(pid int64) (outstanding, full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outstanding[pid], len(b.outstanding) >= maxOutstanding
}

// set notes that a call for a process is outstanding, or that it has returned.
func (b *Isolation) set(pid int64, outstanding bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !outstanding:
		delete(b.outstanding, pid)
	case b.outstanding == nil:
		b.outstanding = map[int64]bool{pid: true}
	default:
		b.outstanding[pid] = true
	}
}
