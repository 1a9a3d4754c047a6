// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// retryPeriod is after how long a log that cannot be read is tried again.
	retryPeriod = time.Minute
	// pollPeriod is how often a log is polled that does not wake up its readers.
	pollPeriod = time.Second
	// maxOverruns in a row, without a message between them, mean that the log cannot be read.
	maxOverruns = 100
)

// source is an open log of the kernel.
type source interface {
	// read waits for new messages and returns them. It ends with ctx. errOverrun: messages were overwritten before they were read, and the
	// next call goes on with those that are left. Any other error: the log cannot be read any more.
	read(ctx context.Context) ([]Record, error)
	close() error
}

var errOverrun = errors.New("messages of the kernel's log were overwritten before they were read")

// Follower reads what the kernel adds to its log.
type Follower struct {
	open   func() (source, error)
	report func([]Event)
	times  func() (now time.Time, monotonic time.Duration)
	cancel context.CancelFunc
	ended  chan struct{}
	clock  clock
	// programs: what programs wrote to the log counts, too. Tests have no other lines.
	programs bool

	mu       sync.Mutex
	reading  bool
	problem  error
	overruns int64
}

// New returns a Follower that calls report with what is reported after Start. report is called from one goroutine and must not wait.
func New(cfg Config, report func([]Event)) *Follower {
	return &Follower{open: func() (source, error) { return openLog(cfg) }, report: report, times: times, ended: make(chan struct{})}
}

// Start opens the log and starts to follow it. Earlier messages are left out. If the log cannot be opened, Problem returns why, and Start
// is tried again later.
func (f *Follower) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	log, err := f.openLog()
	go func() {
		defer close(f.ended)
		f.run(ctx, log, err)
	}()
}

// Close ends what Start started. report is not called after it.
func (f *Follower) Close() {
	if f.cancel != nil {
		f.cancel()
		<-f.ended
	}
}

// Problem returns why the log cannot be read; nil: it can.
func (f *Follower) Problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem
}

// Reading reports whether the log is open and read.
func (f *Follower) Reading() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reading
}

// Overruns returns how often messages were overwritten before they were read.
func (f *Follower) Overruns() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.overruns
}

// run follows the log until ctx ends, and opens it again after a while if it cannot be read.
func (f *Follower) run(ctx context.Context, log source, err error) {
	for {
		if err == nil {
			err = f.follow(ctx, log)
		}
		if ctx.Err() != nil {
			return
		}
		f.setState(false, err)
		if wait(ctx, retryPeriod); ctx.Err() != nil {
			return
		}
		log, err = f.openLog()
	}
}

// openLog opens the log, and keeps whether that succeeded.
func (f *Follower) openLog() (source, error) {
	log, err := f.open()
	f.setState(err == nil, err)
	return log, err
}

func (f *Follower) setState(reading bool, problem error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading, f.problem = reading, problem
}

// follow reads an open log until that is not possible any more, and closes it.
func (f *Follower) follow(ctx context.Context, log source) (err error) {
	defer func() { err = errors.Join(err, log.close()) }()
	overruns := 0 // in a row
	for {
		records, err := log.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errOverrun):
			f.mu.Lock()
			f.overruns++
			f.mu.Unlock()
			if overruns++; overruns == maxOverruns {
				return fmt.Errorf("read the kernel's log: %d times in a row %w; it is tried again each minute", overruns, err)
			}
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w; it is tried again each minute", err)
		}
		if len(records) > 0 {
			overruns = 0
			f.take(records)
		}
	}
}

// take reports the events of messages.
func (f *Follower) take(records []Record) {
	var events []Event
	for i := range records {
		r := &records[i]
		if r.Facility != 0 && !f.programs {
			continue
		}
		messages := Parse(r)
		if len(messages) == 0 {
			continue
		}
		now, monotonic := f.times()
		if stamp, ok := r.Stamp.Get(); ok {
			now = f.clock.time(stamp, now, monotonic)
		}
		for j := range messages {
			messages[j].Time = now
		}
		events = append(events, messages...)
	}
	if len(events) > 0 {
		f.report(events)
	}
}

// wait waits until ctx ends, but no longer than d.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
