// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestEach: a call that does not return costs the other processes nothing, and is not made again while it is outstanding.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Isolation
		hang := map[int64]chan struct{}{2: make(chan struct{}), 4: make(chan struct{})}
		each := func(pids ...int64) (results, left []int64, took time.Duration) {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			left = Each(ctx, &b, pids, func(pid int64) int64 {
				if wait := hang[pid]; wait != nil {
					<-wait
				}
				return 10 * pid
			}, func(pid, result int64) bool {
				assert.Equal(t, 10*pid, result)
				results = append(results, pid)
				return true
			})
			return results, left, time.Since(start)
		}
		results, left, took := each(1, 2, 3, 4, 5)
		assert.Equal(t, []int64{1, 3, 5}, results)
		assert.Equal(t, []int64{2, 4}, left)
		assert.Equal(t, 2*time.Second, took, "an eighth of the time for each")
		for range 3 {
			results, left, took = each(1, 2, 3, 4, 5)
			assert.Equal(t, []int64{1, 3, 5}, results)
			assert.Equal(t, []int64{2, 4}, left)
			assert.Zero(t, took, "they are not waited for")
		}
		for _, wait := range hang {
			close(wait)
		}
		synctest.Wait()
		results, left, _ = each(1, 2, 3, 4, 5)
		assert.Equal(t, []int64{1, 2, 3, 4, 5}, results)
		assert.Empty(t, left)
	})
}

// TestEachManyHang: the outstanding calls are bounded.
func TestEachManyHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Isolation
		hang := make(chan struct{})
		pids := make([]int64, 2*maxOutstanding)
		for i := range pids {
			pids[i] = int64(i)
		}
		for range 2 {
			left := Each(t.Context(), &b, pids, func(int64) int { <-hang; return 0 }, func(int64, int) bool { return true })
			assert.Len(t, left, len(pids))
			assert.Len(t, b.outstanding, maxOutstanding)
		}
		close(hang)
		synctest.Wait()
		assert.Empty(t, b.outstanding)
	})
}

// TestEachEnds: Each ends when take has enough, and with the context.
func TestEachEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Isolation
		hang := make(chan struct{})
		defer close(hang)
		var results []int64
		left := Each(t.Context(), &b, []int64{1, 2, 3}, func(int64) int { return 0 }, func(pid int64, _ int) bool {
			results = append(results, pid)
			return len(results) < 2
		})
		assert.Equal(t, []int64{1, 2}, results)
		assert.Empty(t, left)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		left = Each(ctx, &b, []int64{1, 2, 3}, func(int64) int { <-hang; return 0 }, func(int64, int) bool { return true })
		assert.Equal(t, []int64{1, 2, 3}, left, "none was read")
	})
}

// TestEachRunsOutOfTime: the processes that no call was made for are left out, too.
func TestEachRunsOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Isolation
		hang := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		pids := make([]int64, 20)
		for i := range pids {
			pids[i] = int64(i)
		}
		left := Each(ctx, &b, pids, func(int64) int { <-hang; return 0 }, func(int64, int) bool { return true })
		assert.Equal(t, pids, left, "an eighth of the time for each of the first eight")
		close(hang)
		synctest.Wait()
	})
}
