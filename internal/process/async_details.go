// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"time"
)

const (
	// detailsWait bounds how long Describe waits for the details of new processes. Reading a command line takes the lock of
	// the process's memory map, which a process that hangs in the driver may hold forever.
	detailsWait = time.Second
	// maxStuck bounds the outstanding reads of details, each of which occupies a thread. This is why internal/workers is not used:
	// it asks slow devices side by side, and there can be many more processes than devices.
	maxStuck = 4
)

// readDetailsOf reads the details of new processes and waits up to r.wait. It is called with the lock held and releases it
// while it waits.
func (r *Reader) readDetailsOf(pending []*process, now time.Time) error {
	if r.outstanding >= maxStuck {
		return fmt.Errorf("process: read %s: %d reads have not returned; new processes are described when they return", r.root, r.outstanding)
	}
	boot := r.bootTime(now)
	for _, p := range pending {
		p.details.begin(p, boot)
	}
	r.outstanding++
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.readEach(pending)
	}()

	r.mu.Unlock()
	defer r.mu.Lock()
	timer := time.NewTimer(r.wait)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process: read %s: the details of processes were not read within %s", r.root, r.wait)
	}
}

// readEach reads the details of the processes, one process after the other.
func (r *Reader) readEach(pending []*process) {
	for _, p := range pending {
		r.mu.Lock()
		claimed := p.claimed
		p.claimed = true
		d := p.details
		r.mu.Unlock()
		if claimed {
			continue // by a later Describe, while this read was stuck
		}
		d = r.readDetails(p, d)
		r.mu.Lock()
		p.details = d
		r.mu.Unlock()
	}
	r.mu.Lock()
	r.outstanding--
	r.mu.Unlock()
}
