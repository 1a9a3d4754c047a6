// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stuck is a process that hangs in the kernel: no kill ends it until letGo is closed.
type stuck struct{ release chan struct{} }

func (s stuck) wait() error { <-s.release; return errors.New("signal: killed") }
func (stuck) exitCode() int { return -1 }
func (stuck) pid() int      { return 4711 }

// slow is a process that ends some time after it was killed, because the driver has to free its GPU memory first.
type slow struct {
	killed <-chan struct{}
	after  time.Duration
}

func (s slow) wait() error { <-s.killed; time.Sleep(s.after); return errors.New("signal: killed") }
func (slow) exitCode() int { return -1 }
func (slow) pid() int      { return 4713 }

// A process that a kill ends does not hang, however short the deadline was.
func TestLocalKilledProcessThatEndsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewLocal(NvidiaSMI, ownExecutable(t))
		require.NoError(t, err)
		l.start = func(ctx context.Context, _ spec) (process, error) {
			return slow{ctx.Done(), defaultKillWait - time.Millisecond}, nil
		}
		for range 2 { // the second time shows that the Local is not busy after the first
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err = l.Run(ctx, Command{Tool: NvidiaSMI})
			cancel()
			require.ErrorIs(t, err, ErrTimeout)
			require.ErrorContains(t, err, "timeout or collection_interval is too short for this tool")
			require.NotContains(t, err.Error(), "still exists")
		}
	})
}

type ended struct{}

func (ended) wait() error   { return nil }
func (ended) exitCode() int { return 0 }
func (ended) pid() int      { return 4712 }

func TestLocalStuckProcessKeepsItBusy(t *testing.T) {
	p := stuck{release: make(chan struct{})}
	starts := 0
	l, err := NewLocal(NvidiaSMI, ownExecutable(t))
	require.NoError(t, err)
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l.now = func() time.Time { return since }
	l.killWait = time.Millisecond
	ctx, expire := context.WithCancelCause(t.Context())
	l.start = func(context.Context, spec) (process, error) {
		starts++
		if starts == 2 {
			expire(context.DeadlineExceeded)
			return p, nil
		}
		return ended{}, nil
	}

	results, err := l.Run(ctx, Command{Tool: NvidiaSMI}, Command{Tool: NvidiaSMI}, Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, ErrTimeout)
	assert.Len(t, results, 1, "the results before the timeout are lost")
	require.ErrorContains(t, err, "process 4711")

	goroutines := runtime.NumGoroutine()
	for range 100 {
		_, err = l.Run(t.Context(), Command{Tool: NvidiaSMI})
		require.ErrorIs(t, err, ErrBusy)
		require.ErrorContains(t, err, "since 2026-03-01T12:00:00Z")
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "goroutines pile up behind a stuck process")
	assert.Equal(t, 2, starts, "another process was started beside a stuck one")

	close(p.release)
	require.Eventually(t, func() bool {
		_, err = l.Run(t.Context(), Command{Tool: NvidiaSMI})
		return err == nil
	}, time.Minute, time.Millisecond, "the process has ended, and the tool is still not run")
}

func TestLocalCancelledIsNoTimeout(t *testing.T) {
	l, err := NewLocal(NvidiaSMI, ownExecutable(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Run(ctx, Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrTimeout)
}

func TestLocalRunsOnlyItsTool(t *testing.T) {
	l, err := NewLocal(NvidiaSMI, ownExecutable(t))
	require.NoError(t, err)
	_, err = l.Run(t.Context(), Command{Tool: AMDSMI})
	require.ErrorContains(t, err, `nvidia-smi: asked to run "amd-smi"`)
}

func TestLocalStartFails(t *testing.T) {
	l, err := NewLocal(NvidiaSMI, ownExecutable(t))
	require.NoError(t, err)
	l.start = func(context.Context, spec) (process, error) { return nil, errors.New("permission denied") }
	for range 2 { // the second time shows that the Local is not busy after the first
		_, err = l.Run(t.Context(), Command{Tool: NvidiaSMI})
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorContains(t, err, "permission denied")
	}
}

func TestLimitLeavesTimeToKill(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	limited, stop := limit(ctx, maxGrace)
	defer stop()
	whole, _ := ctx.Deadline()
	killed, ok := limited.Deadline()
	require.True(t, ok)
	assert.Equal(t, maxGrace, whole.Sub(killed))

	limited, stop = limit(t.Context(), maxGrace)
	defer stop()
	_, ok = limited.Deadline()
	assert.True(t, ok, "a call without a deadline has no bound")
}
