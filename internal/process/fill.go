// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"time"
)

// fill reads the details of new processes and waits for them within a bound. It is called with the lock held, and lets
// go of it while it waits.
func (r *Reader) fill(pending []*entry, now time.Time) error {
	if r.outstanding >= maxStuck {
		return fmt.Errorf("process: %d reads of %s have not come back; new processes are not described until they do",
			r.outstanding, r.root)
	}
	boot := r.bootTime(now)
	for _, e := range pending {
		e.details.begin(e, boot)
	}
	r.outstanding++
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.readAll(pending)
	}()

	r.mu.Unlock()
	defer r.mu.Lock()
	timer := time.NewTimer(r.wait)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process: what %s tells of the processes was not read within %s", r.root, r.wait)
	}
}

// readAll reads the details of the processes one after the other.
func (r *Reader) readAll(pending []*entry) {
	for _, e := range pending {
		r.mu.Lock()
		claimed := e.claimed
		e.claimed = true
		d := e.details
		r.mu.Unlock()
		if claimed {
			continue // by a later Describe, while this one was stuck
		}
		d = r.readDetails(e, d)
		r.mu.Lock()
		e.details = d
		r.mu.Unlock()
	}
	r.mu.Lock()
	r.outstanding--
	r.mu.Unlock()
}
