// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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
				generation = f.Tiles(generation, "").Generation
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
				now := start.Add(time.Duration(i) * time.Second)
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
