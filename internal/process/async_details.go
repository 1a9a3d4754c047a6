// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"sync"
	"time"
)

const (
	// detailsWait bounds how long Describe waits for the details of new processes. Reading a command line takes the lock of
	// the process's memory map, which a process that hangs in the driver may hold forever.
	detailsWait = time.Second
	// maxStuck bounds the outstanding reads of details. Each occupies a thread. This is why internal/workers is not used:
	// it asks slow devices side by side, and there can be many more processes than devices.
	maxStuck = 4
)

// asyncDetails reads the details of new processes and does not wait for a read that hangs.
type asyncDetails struct {
	detailsReader

	wait        time.Duration
	mu          *sync.Mutex // the lock of the Reader; it also guards the fields below and the processes
	boot        bootTime
	outstanding int // reads that have not returned
}

// readAll reads the details of new processes and waits up to a.wait. It is called with the lock held and releases it while it
// waits.
func (a *asyncDetails) readAll(pending []*process, now time.Time) error {
	if a.outstanding >= maxStuck {
		return fmt.Errorf("process: read %s: %d reads have not returned; new processes are described when they return", a.root, a.outstanding)
	}
	boot := a.boot.at(a.root, now)
	for _, p := range pending {
		p.details.begin(boot, p.start, p.name)
	}
	a.outstanding++
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.readEach(pending)
	}()

	a.mu.Unlock()
	defer a.mu.Lock()
	timer := time.NewTimer(a.wait)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process: read %s: the details of processes were not read within %s", a.root, a.wait)
	}
}

// readEach reads the details of the processes, one process after the other.
func (a *asyncDetails) readEach(pending []*process) {
	for _, p := range pending {
		a.mu.Lock()
		claimed := p.claimed
		p.claimed = true
		d := p.details
		a.mu.Unlock()
		if claimed {
			continue // by a later Describe, while this read was stuck
		}
		d = a.read(p.pid, p.start, d)
		a.mu.Lock()
		p.details = d
		a.mu.Unlock()
	}
	a.mu.Lock()
	a.outstanding--
	a.mu.Unlock()
}
