// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A subscriber hears of changes, and of nothing after it has ended.
func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(Settings{})
		f.Start()
		defer f.Shutdown()
		changes, end := f.Subscribe()
		slow, endSlow := f.Subscribe()
		defer endSlow()
		m := newMachine("a", 1, 1)
		change := func() uint64 {
			f.ConsumeMetrics(m.read(time.Now()))
			time.Sleep(tick)
			synctest.Wait() // until all subscribers are notified
			return f.Snapshot().Generation
		}
		first := change()
		assert.Equal(t, first, <-changes)
		last := change()
		assert.Greater(t, last, first)
		assert.Equal(t, last, <-changes)
		assert.Equal(t, last, <-slow, "a slow reader hears of the last change")
		assert.Empty(t, slow, "and only of that")
		end()
		assert.Equal(t, change(), <-slow)
		assert.Empty(t, changes)
	})
}

// Messages, readers and the search for silent nodes may run at the same time.
func TestConcurrency(t *testing.T) {
	f := New(Settings{GoneAfter: time.Millisecond})
	f.Start()
	defer f.Shutdown()
	var running sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		running.Go(func() {
			generation := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, n := range f.Snapshot().Nodes {
					for _, g := range n.GPUs {
						_ = line(g)
					}
				}
				f.History("GPU-a-0", "hw.power", time.Time{})
				f.Events()
				generation = f.Tiles(generation).Generation
				_, end := f.Subscribe()
				end()
				f.sweep()
			}
		})
	}
	var writing sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		writing.Go(func() {
			m := newMachine(name, 2, 2)
			for i := range 100 {
				now := began.Add(time.Duration(i) * time.Second)
				f.ConsumeMetrics(m.read(now))
				f.ConsumeLogs(eventMessage(m.Host, now, xid(int64(i), now)))
			}
		})
	}
	writing.Wait()
	close(stop)
	running.Wait()
	assert.Len(t, f.Events(), 200)
}
