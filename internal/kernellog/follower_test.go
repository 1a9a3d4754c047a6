// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scripted is a log that returns what it is given.
type scripted struct {
	steps  chan step
	closed atomic.Bool
}

type step struct {
	records []Record
	err     error
}

func (s *scripted) read(ctx context.Context) ([]Record, error) {
	select {
	case <-ctx.Done():
		return nil, nil
	case next := <-s.steps:
		return next.records, next.err
	}
}

func (s *scripted) close() error { s.closed.Store(true); return nil }

func xid(code, stamp string) Record {
	r, err := ParseKmsg([]byte("3,1," + stamp + ",-;NVRM: Xid (PCI:0000:9b:00): " + code + ", a"))
	if err != nil {
		panic(err)
	}
	return r
}

func newFollower(open func() (source, error)) (*Follower, chan []Event) {
	received := make(chan []Event, 100)
	f := New(DefaultConfig(), func(events []Event) { received <- events })
	f.open = open
	return f, received
}

func TestFollower(t *testing.T) {
	t.Parallel()
	log := &scripted{steps: make(chan step)}
	f, ok := newFollower(func() (source, error) { return log, nil })
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.times = func() (time.Time, time.Duration) { return now, time.Hour }
	f.Start()
	byProgram := xid("1", "0")
	byProgram.Facility = 1
	log.steps <- step{records: []Record{{Text: "anything"}, byProgram}}
	log.steps <- step{err: errOverrun}
	log.steps <- step{records: []Record{xid("31", "3599000000"), xid("43", "3600000000"), {Text: "NVRM: Xid (PCI:0000:9b:00): 79, b"}}}
	assert.Equal(t, []Event{
		{Address: gpuAddress, XID: 31, Text: "a", Time: now}, {Address: gpuAddress, XID: 43, Text: "a", Time: now}, {Address: gpuAddress, XID: 79, Text: "b", Time: now},
	}, <-ok, "without what a program wrote; the first that is read is taken to be new")
	log.steps <- step{records: []Record{xid("13", "3599500000")}}
	assert.Equal(t, now.Add(-500*time.Millisecond), (<-ok)[0].Time)
	require.NoError(t, f.Problem())
	assert.EqualValues(t, 1, f.Overruns())
	f.Close()
	assert.True(t, log.closed.Load())
	assert.Empty(t, ok)
}

// A log that cannot be opened or read is a problem, and neither waits for it.
func TestFollowerFails(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	f, _ := newFollower(func() (source, error) { return nil, refused })
	require.NoError(t, f.Problem())
	f.Start()
	require.ErrorIs(t, f.Problem(), refused, "already at the start: the first read reports it")
	f.Close()

	log := &scripted{steps: make(chan step, 1)}
	log.steps <- step{err: io.ErrUnexpectedEOF}
	f, _ = newFollower(func() (source, error) { return log, nil })
	f.Start()
	require.Eventually(t, func() bool { return errors.Is(f.Problem(), io.ErrUnexpectedEOF) }, time.Minute, time.Millisecond)
	assert.True(t, log.closed.Load())
	f.Close()

	f, _ = newFollower(nil)
	f.Close() // never started
}

// A log that brings nothing but overruns is not read in a circle.
func TestFollowerEndsOverruns(t *testing.T) {
	t.Parallel()
	log := &scripted{steps: make(chan step)}
	go func() {
		for range maxOverruns {
			log.steps <- step{err: errOverrun}
		}
	}()
	f, _ := newFollower(func() (source, error) { return log, nil })
	f.Start()
	require.Eventually(t, func() bool { return errors.Is(f.Problem(), errOverrun) }, time.Minute, time.Millisecond)
	assert.EqualValues(t, maxOverruns, f.Overruns())
	f.Close()
}
