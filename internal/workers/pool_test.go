// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In a synctest bubble time passes when all goroutines wait, so a test that hangs calls takes no time.

func jobs(tasks []*Task, run func(i int)) []Job {
	all := make([]Job, len(tasks))
	for i, t := range tasks {
		all[i] = Job{Task: t, Func: func() { run(i) }}
	}
	return all
}

func newTasks(p *Pool, n int) []*Task {
	tasks := make([]*Task, n)
	for i := range tasks {
		tasks[i] = p.NewTask(nil)
	}
	return tasks
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestRun(t *testing.T) {
	var p Pool
	tasks := newTasks(&p, 50)
	assert.Equal(t, NotBegun, tasks[0].Outcome())
	var runs [50]int
	for n := range 100 {
		p.Run(t.Context(), jobs(tasks, func(i int) { runs[i]++ })...)
		for i, task := range tasks {
			require.Equal(t, Done, task.Outcome())
			require.Equal(t, n+1, runs[i])
		}
	}
	p.Run(t.Context())
	assert.Zero(t, p.Outstanding())
}

func TestAtMostOneCallForEachDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Pool{HungAfter: -1}
		tasks := newTasks(&p, 30)
		hang := make(chan struct{})
		var hung, ended atomic.Int64
		call := func(i int) {
			if i%3 == 0 {
				hung.Add(1)
				<-hang
			}
			ended.Add(1)
		}
		for n := range 3 {
			p.Run(within(t, time.Second), jobs(tasks, call)...)
			for i, task := range tasks {
				assert.Equal(t, i%3 == 0, task.Outcome() == Hung)
				assert.Equal(t, i%3 != 0, task.Outcome() == Done)
			}
			assert.EqualValues(t, 20*(n+1), ended.Load(), "the others are called")
			assert.EqualValues(t, 10, hung.Load(), "what hangs is not called again")
			assert.Equal(t, 10, p.Outstanding())
		}
		close(hang)
		synctest.Wait()
		assert.Zero(t, p.Outstanding())
		p.Run(t.Context(), jobs(tasks, call)...)
		assert.Equal(t, Done, tasks[0].Outcome())
		assert.EqualValues(t, 20, hung.Load())
	})
}

func TestSameTaskTwiceInARun(t *testing.T) {
	var p Pool
	task, calls := p.NewTask(nil), 0
	p.Run(t.Context(), Job{task, func() { calls++ }}, Job{task, func() { calls++ }})
	assert.Equal(t, 1, calls)
	assert.Equal(t, Done, task.Outcome())
}

func TestSlowDevicesAreAskedSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		tasks := newTasks(&p, 100)
		start := time.Now()
		p.Run(within(t, 5*time.Second), jobs(tasks, func(int) { time.Sleep(time.Second) })...)
		assert.LessOrEqual(t, time.Since(start), time.Second+patience)
		for _, task := range tasks {
			assert.Equal(t, Done, task.Outcome())
		}
	})
}

// A worker that is delayed by a job of the first round starts neither another job of that round nor one of the next, and a job that it ends
// late does not count as ended.
func TestLateWorkerTakesUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Pool{HungAfter: -1}
		tasks := newTasks(&p, 5)
		hang := make(chan struct{})
		var later atomic.Int64
		p.Run(within(t, patience/2), jobs(tasks, func(i int) {
			if i == 0 {
				<-hang
				return
			}
			later.Add(1)
		})...)
		assert.Equal(t, Hung, tasks[0].Outcome())
		close(hang)
		synctest.Wait()
		assert.Zero(t, later.Load(), "no job of a round that is over begins")
		assert.Equal(t, Hung, tasks[0].Outcome())

		again := make(chan struct{})
		p.Run(within(t, time.Second), jobs(tasks, func(i int) {
			if i == 0 {
				<-again
			}
		})...)
		assert.Equal(t, Hung, tasks[0].Outcome(), "a call of this round, not of the last")
		close(again)
		synctest.Wait()
		assert.Equal(t, Hung, tasks[0].Outcome())
		assert.Equal(t, Done, tasks[1].Outcome())
	})
}

func TestPendingCallIsNotHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Pool{HungAfter: -1}
		tasks := newTasks(&p, 4)
		hang := make(chan struct{})
		p.Run(within(t, patience/2), jobs(tasks, func(int) { <-hang })...)
		assert.Equal(t, Hung, tasks[0].Outcome())
		for _, task := range tasks[1:] {
			assert.Equal(t, NotBegun, task.Outcome())
		}
		assert.Equal(t, 1, p.Outstanding())
		p.Run(t.Context(), jobs(tasks[1:], func(int) {})...)
		for _, task := range tasks[1:] {
			assert.Equal(t, Done, task.Outcome(), "the next round begins it")
		}

		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		p.Run(cancelled, jobs(tasks, func(int) { t.Error("began after the context had ended") })...)
		assert.Equal(t, Hung, tasks[0].Outcome())
		assert.Equal(t, NotBegun, tasks[1].Outcome())
		close(hang)
		synctest.Wait()
	})
}

func TestFreedAfterTheLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		var freed []string
		free := func(subject string) func() { return func() { freed = append(freed, subject) } }
		a, b := p.NewTask(free("a")), p.NewTask(free("b"))
		hang := []chan struct{}{make(chan struct{}), make(chan struct{})}
		p.Run(within(t, time.Second), jobs([]*Task{a, b}, func(i int) { <-hang[i] })...)
		a.Retire()
		a.Retire()
		b.Retire()
		done := p.Close(free("library"))
		synctest.Wait()
		assert.Empty(t, freed)
		close(hang[1])
		synctest.Wait()
		assert.Equal(t, []string{"b"}, freed)
		select {
		case <-done:
			t.Error("a call is outstanding")
		default:
		}
		close(hang[0])
		<-done
		assert.Equal(t, []string{"b", "a", "library"}, freed)
	})
}

func TestRetire(t *testing.T) {
	var p Pool
	freed := 0
	task := p.NewTask(func() { freed++ })
	p.Run(t.Context(), Job{task, func() {}})
	task.Retire()
	task.Retire()
	assert.Equal(t, 1, freed)
	p.Run(t.Context(), Job{task, func() { t.Error("retired") }})
	assert.Equal(t, NotBegun, task.Outcome())
}

func TestShutdownNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		task, other := p.NewTask(nil), p.NewTask(nil)
		hang := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		start := time.Now()
		p.Run(ctx, Job{task, func() { <-hang }})
		done := p.Close(func() { <-hang }) // nvmlShutdown may hang, too
		p.Run(t.Context(), Job{task, func() {}}, Job{other, func() { t.Error("begins after Close") }})
		assert.Equal(t, NotBegun, other.Outcome())
		assert.Zero(t, time.Since(start))
		close(hang)
		<-done
	})
}

// A call that is slower than the time of a Run is not hung. It is when it has been outstanding for long, whatever the time of a Run.
func TestLateIsNotHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		task := p.NewTask(nil)
		slow := func() { time.Sleep(hungAfter - time.Second) }
		for range 3 {
			p.Run(within(t, time.Second), Job{task, slow})
			assert.Equal(t, Late, task.Outcome())
			time.Sleep(hungAfter)
		}
		hang := make(chan struct{})
		var calls atomic.Int64
		for _, want := range []Outcome{Late, Late, Hung, Hung} {
			p.Run(within(t, time.Second), Job{task, func() { calls.Add(1); <-hang }})
			assert.Equal(t, want, task.Outcome())
			time.Sleep(2 * time.Second)
		}
		assert.EqualValues(t, 1, calls.Load())
		close(hang)
		synctest.Wait()
		p.Run(t.Context(), Job{task, func() {}})
		assert.Equal(t, Done, task.Outcome())
	})
}
