// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/workers"
)

// isolatedDetails reads the details of new processes and does not wait for a read that hangs: reading a command line takes the lock of the
// process's memory map, which a process that hangs in the driver may hold forever.
type isolatedDetails struct {
	detailsReader

	boot      bootTime
	isolation workers.Isolation
}

// readAll reads the details of processes. If the files of a process do not answer, they are read again at the next call, and the error has
// its PID. A process that has just started to execute its program is also read again.
func (a *isolatedDetails) readAll(ctx context.Context, pending []*process, now time.Time) error {
	if len(pending) == 0 {
		return nil
	}
	boot := a.boot.get(a.root, now)
	pids := make([]int64, 0, len(pending))
	begun := make(map[int64]process, len(pending)) // copies, for reads that return late
	byPID := make(map[int64]*process, len(pending))
	for _, p := range pending {
		p.details.begin(boot, p.start, p.name)
		pids = append(pids, p.pid)
		begun[p.pid], byPID[p.pid] = *p, p
	}
	blockedPIDs := workers.Each(ctx, &a.isolation, pids, func(pid int64) details { return a.read(pid, begun[pid].start, begun[pid].details) },
		func(pid int64, d details) bool {
			byPID[pid].details, byPID[pid].described = d, !d.unfinished
			return true
		})
	return unanswered(a.root, "details", blockedPIDs)
}
