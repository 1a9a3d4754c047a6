// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
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
