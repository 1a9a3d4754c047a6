// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// xidOn returns an XID that happens now.
func xidOn(device string, code int64) gpu.Event {
	return gpu.Event{Type: gpu.EventXID, Time: time.Now(), DeviceID: device, Vendor: gpu.NVIDIA, XID: code}
}

// found adds XIDs as a source does between reads.
func found(q *eventQueue, events ...gpu.Event) { q.addFound(events) }

// texts describe events: device, code, and of a sum the number and the seconds since start.
func texts(start time.Time, events []gpu.Event) []string {
	list := []string{}
	for _, e := range events {
		text := fmt.Sprintf("%s %d", e.DeviceID, e.XID)
		if e.Type == gpu.EventStatus {
			text = e.DeviceID + " status"
		}
		if e.Count > 0 {
			text += fmt.Sprintf(", %d from %v to %v", e.Count, e.First.Sub(start), e.Time.Sub(start))
		}
		list = append(list, text)
	}
	return list
}

// A sum of XIDs with different texts keeps what the driver asks for.
func TestTextOfASum(t *testing.T) {
	for _, test := range []struct {
		code       int64
		a, b, want string
	}{
		{160, "channel 1, Node Reboot Required", "channel 2, Node Reboot Required", "Node Reboot Required"},
		{160, "channel 1", "channel 2", ""},
		{160, "channel 1", "channel 1", "channel 1"},
		{154, "from 0x0 (None) to 0x1 (GPU Reset Required)", "from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)", "to 0x1 (GPU Reset Required)"},
		{145, "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x1)", "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x2)", "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03"},
	} {
		e, other := xidOn("a", test.code), xidOn("a", test.code)
		e.Detail, other.Detail = test.a, test.b
		inCommon(&e, &other)
		assert.Equal(t, test.want, e.Detail, "%d %s, %s", test.code, test.a, test.b)
	}
}

// XIDs of one code that differ in what they ask for, or in the link, are no repeats of each other.
func TestDifferentWordsAreNoRepeats(t *testing.T) {
	for code, details := range map[int64][2]string{
		154: {"from 0x0 (None) to 0x4 (Drain and Reset)", "from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)"},
		145: {"RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x1)", "RLW_SRC_TRACK Fatal XC1 i0 Link 03 (0x1)"},
		160: {"channel 1", "channel 2, Node Reboot Required"},
	} {
		a, b := xidOn("a", code), xidOn("a", code)
		a.Detail, b.Detail = details[0], details[1]
		first, _ := keyOf(&a)
		second, _ := keyOf(&b)
		assert.NotEqual(t, first, second, "%d", code)
	}
}

// The first XID is there immediately, the others are summed for 10 s and then delivered without a request.
func TestRepeatsAreSummed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{found: make(chan struct{}, 1)}
		start := time.Now()
		found(q, xidOn("a", 31), xidOn("a", 31), xidOn("b", 31))
		assert.Equal(t, []string{"a 31", "b 31"}, texts(start, q.take()))
		time.Sleep(3 * time.Second)
		found(q, xidOn("a", 31), xidOn("a", 31))
		assert.Empty(t, q.take())
		assert.True(t, signalled(q.found))
		time.Sleep(7 * time.Second)
		synctest.Wait()
		assert.True(t, signalled(q.found))
		assert.Equal(t, []string{"a 31, 3 from 0s to 3s"}, texts(start, q.take()))

		time.Sleep(time.Second)
		found(q, xidOn("a", 31))
		assert.Empty(t, q.take(), "it goes on within 10 s of the sum")
		time.Sleep(9 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"a 31, 1 from 11s to 11s"}, texts(start, q.take()))
		assert.True(t, signalled(q.found))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.False(t, signalled(q.found), "nothing to send")
		found(q, xidOn("a", 31))
		assert.Equal(t, []string{"a 31"}, texts(start, q.take()), "after a quiet time it is a first one")
		time.Sleep(time.Minute)
		q.mu.Lock()
		defer q.mu.Unlock()
		assert.Nil(t, q.timer, "an idle queue has no timer")
		assert.Empty(t, q.repeats.watched)
	})
}

// Events of a GPU come after its sums, also after the sums of its MIG instances, and not after the sums of other GPUs.
func TestRepeatsKeepTheOrderOfTheGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{}
		start := time.Now()
		mig := func(code int64) gpu.Event { e := xidOn("m", code); e.Parent = "a"; return e }
		found(q, mig(13), xidOn("a", 31), xidOn("b", 13))
		assert.Len(t, q.take(), 3)
		time.Sleep(time.Second)
		found(q, xidOn("a", 31), mig(13), xidOn("b", 13))
		time.Sleep(time.Second)
		found(q, xidOn("a", 31))
		assert.Empty(t, q.take())
		found(q, xidOn("a", 79))
		assert.Equal(t, []string{"m 13, 1 from 1s to 1s", "a 31, 2 from 1s to 2s", "a 79"}, texts(start, q.take()))
		found(q, mig(13))
		q.addFound([]gpu.Event{{Type: gpu.EventStatus, DeviceID: "m", Parent: "a"}})
		assert.Equal(t, []string{"m 13, 1 from 2s to 2s", "m status"}, texts(start, q.take()))
		assert.Equal(t, []string{"b 13, 1 from 1s to 1s"}, texts(start, q.takeLast()))
		assert.Empty(t, q.takeLast())
	})
}

// An event of a source may represent several XIDs.
func TestRepeatsOfASum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{}
		start := time.Now()
		sum := xidOn("a", 31)
		sum.First, sum.Time, sum.Count = start, start.Add(2*time.Second), 5
		found(q, sum)
		events := q.take()
		require.Len(t, events, 1)
		assert.Zero(t, events[0].Count)
		assert.Equal(t, start, events[0].Time)
		found(q, sum)
		assert.Equal(t, []string{"a 31, 9 from 0s to 2s"}, texts(start, q.takeLast()))
	})
}

// Above the bound each XID is sent for itself.
func TestRepeatsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{}
		for code := range int64(maxRepeats + 50) {
			found(q, xidOn("a", code), xidOn("a", code))
			q.take()
		}
		assert.Len(t, q.repeats.watched, maxRepeats)
		found(q, xidOn("a", maxRepeats+1), xidOn("a", maxRepeats+1))
		assert.Len(t, q.take(), 2)
	})
}

// The number of hardware errors of a sum is known if the number of each event is known.
func TestErrorsOfASum(t *testing.T) {
	known, unknown := gpu.Some(int64(2)), gpu.Opt[int64]{}
	for name, test := range map[string]struct {
		summed []gpu.Opt[int64]
		want   gpu.Opt[int64]
	}{
		"all are known":           {[]gpu.Opt[int64]{known, known}, gpu.Some(int64(4))},
		"the first is not known":  {[]gpu.Opt[int64]{unknown, known}, unknown},
		"the second is not known": {[]gpu.Opt[int64]{known, unknown}, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &eventQueue{}
				for _, errors := range append([]gpu.Opt[int64]{known}, test.summed...) {
					found(q, gpu.Event{Type: gpu.EventRASError, Time: time.Now(), DeviceID: "a", Part: "umc", Errors: errors})
				}
				require.Len(t, q.take(), 1)
				sums := q.takeLast()
				require.Len(t, sums, 1)
				assert.Equal(t, test.want, sums[0].Errors)
			})
		})
	}
}

// A burst is a few records, and nothing is dropped.
func TestBurstOfXIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{}
		for i := range 10_000 {
			found(q, xidOn(fmt.Sprintf("gpu%d", i%8), []int64{13, 31, 43, 45, 74}[i/8%5]))
		}
		events := q.takeLast()
		assert.Len(t, events, 8*5+8*5, "the first and a sum of each")
		total := int64(0)
		for _, e := range events {
			total += max(e.Count, 1)
		}
		assert.EqualValues(t, 10_000, total)
	})
}

// For every order of events: each XID is in exactly one record, the first immediately, the records of a GPU are in order, and there are
// few.
func TestRepeatsOfRandomXIDs(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 22))
			q := &eventQueue{}
			came, reported := map[repeatKey]int64{}, map[repeatKey]int64{}
			lastOfGPU := map[string]time.Time{}
			uids := map[string]bool{}
			start, records, total := time.Now(), 0, int64(0)
			check := func(events []gpu.Event) {
				for _, e := range events {
					n := max(e.Count, 1)
					key, _ := keyOf(&e)
					reported[key] += n
					records++
					g := gpuOf(&e)
					require.False(t, e.Time.Before(lastOfGPU[g]), "%s: out of order", g)
					lastOfGPU[g] = e.Time
					require.False(t, uids[e.UID], "a uid twice")
					uids[e.UID] = true
					if e.Count > 0 {
						require.False(t, e.First.After(e.Time))
						require.LessOrEqual(t, e.Time.Sub(e.First), repeatPeriod)
					}
				}
			}
			firsts := map[repeatKey]bool{}
			for range 1000 {
				time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
				e := xidOn(fmt.Sprintf("gpu%d", rng.IntN(3)), []int64{13, 31, 48, 94}[rng.IntN(4)])
				if rng.IntN(4) == 0 {
					e.DeviceID, e.Parent = e.DeviceID+"/1/0", e.DeviceID
				}
				if rng.IntN(10) == 0 {
					e.First, e.Count = e.Time, int64(2+rng.IntN(50))
				}
				key, _ := keyOf(&e)
				came[key] += max(e.Count, 1)
				total += max(e.Count, 1)
				found(q, e)
				if !firsts[key] || rng.IntN(50) == 0 {
					check(q.take())
					require.Positive(t, reported[key], "the first comes at once")
				}
				firsts[key] = true
			}
			check(q.takeLast())
			assert.Equal(t, came, reported)
			// The first, and a sum for each key and 10 s; and those that a first one of the same GPU brings before their time.
			assert.LessOrEqual(t, records, int(time.Since(start)/repeatPeriod+2)*len(came)*3/2)
			assert.Greater(t, total, int64(records))
		})
	}
}
