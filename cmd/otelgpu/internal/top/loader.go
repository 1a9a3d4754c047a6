// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/internal/backoff"
)

// maxAge is how old an answer becomes while the server sends no change.
const maxAge = 15 * time.Second

var (
	answerRetries = backoff.Policy{First: time.Second, Max: 10 * time.Second}
	streamRetries = backoff.Policy{First: time.Second, Max: 20 * time.Second} // the server is polled meanwhile
)

// loader asks the server when the question changes, when the server sends a change, and otherwise from time to time.
type loader struct {
	client   *client.Client
	panes    []pane
	interval time.Duration // between answers to the same question

	questions chan question // the newest
	changes   chan struct{}
	answers   chan answer
	live      chan bool
}

func newLoader(c *client.Client, panes []pane, interval time.Duration) *loader {
	return &loader{
		client: c, panes: panes, interval: interval,
		questions: make(chan question, 1), changes: make(chan struct{}, 1), answers: make(chan answer), live: make(chan bool),
	}
}

// ask replaces the question. Only one goroutine calls it.
func (l *loader) ask(q question) {
	select {
	case <-l.questions:
	default:
	}
	l.questions <- q
}

// run answers until the context ends.
func (l *loader) run(ctx context.Context) {
	var (
		now         question
		hasQuestion bool
		changed     bool
		failures    int
		last        time.Time     // end of the last answer
		cost        time.Duration // of it
	)
	for {
		wait := maxAge
		switch {
		case failures > 0:
			wait = answerRetries.Wait(failures)
		case changed:
			wait = max(l.interval, 4*cost) // slow answers are requested less often
		}
		timer := time.NewTimer(time.Until(last.Add(wait)))
		if !hasQuestion {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case now = <-l.questions:
			hasQuestion, failures = true, 0
		case <-l.changes:
			timer.Stop()
			changed = true
			continue
		case <-timer.C:
		}
		timer.Stop()
		begun := time.Now()
		a := ask(ctx, l.client, l.panes, now, time.Now)
		last, cost, changed = time.Now(), time.Since(begun), false
		if failures++; a.err == nil {
			failures = 0
		}
		select {
		case l.answers <- a:
		case <-ctx.Done():
			return
		}
	}
}

// watch follows the server's stream of changes, and polls while there is no stream.
func (l *loader) watch(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		live := false
		_ = l.client.Stream(ctx, func() { // its end is not an error: polling replaces it
			if !live {
				live = true
				l.notify(ctx, true)
			}
			l.change()
		})
		if live {
			failures = 0
			l.notify(ctx, false)
		}
		failures++
		l.poll(ctx, streamRetries.Wait(failures))
	}
}

func (l *loader) notify(ctx context.Context, live bool) {
	select {
	case l.live <- live:
	case <-ctx.Done():
	}
}

func (l *loader) change() {
	select {
	case l.changes <- struct{}{}:
	default:
	}
}

// poll takes the time for a change.
func (l *loader) poll(ctx context.Context, during time.Duration) {
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	end := time.NewTimer(during)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-tick.C:
			l.change()
		}
	}
}
