// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxBlocked bounds the processes whose reads are outstanding. Each keeps a thread.
	maxBlocked = 64
	// patienceShare is the part of the time of a read that one process may take.
	patienceShare = 8
	// withoutDeadline is the patience of a read without a deadline.
	withoutDeadline = time.Second
)

// isolation reads processes one after the other and leaves a process alone whose read does not return: the kernel reads a file under a
// lock of a GPU's driver. The zero isolation is ready for use.
type isolation struct {
	mu      sync.Mutex
	blocked map[int64]bool // processes with a read that has not returned
}

// isBlocked reports whether a read of a process is outstanding, and whether no further one may be.
func (b *isolation) isBlocked(pid int64) (blocked, full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.blocked[pid], len(b.blocked) >= maxBlocked
}

// set notes that the read of a process is outstanding, or that it has returned.
func (b *isolation) set(pid int64, blocked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !blocked:
		delete(b.blocked, pid)
	case b.blocked == nil:
		b.blocked = map[int64]bool{pid: true}
	default:
		b.blocked[pid] = true
	}
}

// each calls read for each process and take for what it returns, until take returns false or ctx ends. It returns the processes that were
// left out because their reads are outstanding. read must not share anything between processes.
func each[T any](ctx context.Context, b *isolation, pids []int64, read func(pid int64) T, take func(pid int64, result T) bool) (left []int64) {
	patience := withoutDeadline
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline) / patienceShare
	}
	for len(pids) > 0 && ctx.Err() == nil {
		blocked, full := b.isBlocked(pids[0])
		if full {
			return append(left, pids...)
		}
		if blocked {
			left, pids = append(left, pids[0]), pids[1:]
			continue
		}
		n, stuck, more := batch(ctx, b, pids, patience, read, take)
		if stuck {
			left = append(left, pids[n])
			n++
		}
		if !more {
			return left
		}
		pids = pids[n:]
	}
	return left
}

// batch reads processes until one is outstanding that was so before, or becomes so. It returns how many were read, whether the next one
// did not return in time, and whether to go on.
func batch[T any](
	ctx context.Context, b *isolation, pids []int64, patience time.Duration, read func(pid int64) T, take func(int64, T) bool,
) (n int, stuck, more bool) {
	end := slices.IndexFunc(pids, func(pid int64) bool { blocked, _ := b.isBlocked(pid); return blocked })
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
			result := read(pid)
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
