// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSweep(t *testing.T) {
	var s sweep
	var runs atomic.Int64
	tasks := make([]*task, 50)
	for i := range tasks {
		tasks[i] = &task{run: func() { runs.Add(1) }}
	}
	for n := range 100 {
		round := s.do(nil, nil, time.Minute, tasks...)
		for _, task := range tasks {
			require.True(t, task.ended(round))
			require.False(t, task.ended(round+1))
		}
		require.Equal(t, int64(50*(n+1)), runs.Load())
	}
	assert.Equal(t, uint64(101), s.do(nil, nil, time.Minute), "nothing to do")
}

// TestSweepHangs: the tasks that hang keep none of the others from being run, and are not run twice.
func TestSweepHangs(t *testing.T) {
	var s sweep
	var runs, hung atomic.Int64
	wait := make(chan struct{})
	tasks := make([]*task, 30)
	for i := range tasks {
		tasks[i] = &task{run: func() {
			if i%3 == 0 {
				hung.Add(1)
				<-wait
				return
			}
			runs.Add(1)
		}}
	}
	for n := range 3 {
		round := s.do(nil, nil, 100*time.Millisecond, tasks...)
		for i, task := range tasks {
			assert.Equal(t, i%3 != 0, task.ended(round))
		}
		assert.Equal(t, int64(20*(n+1)), runs.Load())
		assert.Equal(t, int64(10), hung.Load(), "one run outstanding for each")
	}
	close(wait)
	require.Eventually(t, func() bool {
		for _, task := range tasks {
			if task.state.Load() != idle {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
	round := s.do(nil, nil, time.Minute, tasks...)
	assert.True(t, tasks[0].ended(round))
	assert.Equal(t, int64(20), hung.Load())
}

func TestSweepStops(t *testing.T) {
	wait := make(chan struct{})
	for name, stop := range map[string]func(s *sweep, done chan struct{}, task *task){
		"cancelled": func(s *sweep, done chan struct{}, task *task) { s.do(done, nil, time.Hour, task) },
		"closed":    func(s *sweep, done chan struct{}, task *task) { s.do(nil, done, time.Hour, task) },
	} {
		t.Run(name, func(t *testing.T) {
			began, done := make(chan struct{}), make(chan struct{})
			released := make(chan struct{})
			task := &task{run: func() { close(began); <-wait }, release: func() { close(released) }}
			go func() { <-began; close(done) }()
			stop(&sweep{}, done, task)
			assert.Equal(t, running, task.state.Load())
			task.retire()
			select {
			case <-released:
				t.Error("freed while it runs")
			default:
			}
			wait <- struct{}{}
			<-released
		})
	}
}

func TestRetire(t *testing.T) {
	freed := 0
	task := &task{run: func() {}, release: func() { freed++ }}
	task.retire()
	task.retire()
	assert.Equal(t, 1, freed)
	var s sweep
	assert.False(t, task.ended(s.do(nil, nil, time.Minute, task)), "it is not run any more")
}
