// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/checkpoint"
	"github.com/otelgpu/gpureceiver/internal/checkpoint/checkpointtest"
)

// message returns a message with records of these UIDs.
func message(uids ...string) plog.Logs {
	logs := plog.NewLogs()
	if len(uids) == 0 {
		return logs
	}
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, uid := range uids {
		records.AppendEmpty().Attributes().PutStr("log.record.uid", uid)
	}
	return logs
}

func uidsOf(logs plog.Logs) (uids []string) {
	for _, r := range logs.ResourceLogs().All() {
		for _, s := range r.ScopeLogs().All() {
			for _, record := range s.LogRecords().All() {
				uid, _ := record.Attributes().Get("log.record.uid")
				uids = append(uids, uid.Str())
			}
		}
	}
	return uids
}

// open opens a store and returns its drops and log lines.
func open(t *testing.T, s *checkpointtest.Storage) (*checkpoint.Store, *int, *observer.ObservedLogs) {
	t.Helper()
	core, log := observer.New(zap.InfoLevel)
	dropped := 0
	return checkpoint.Open(t.Context(), s, zap.New(core), func(_ context.Context, n int) { dropped += n }), &dropped, log
}

// drain accepts all that waits.
func drain(t *testing.T, s *checkpoint.Store) (uids []string) {
	t.Helper()
	for {
		logs, number, ok := s.First()
		if !ok {
			return uids
		}
		uids = append(uids, uidsOf(logs)...)
		s.Accepted(t.Context(), number)
	}
}

var none = plog.NewLogs()

func TestWhatWaitsOutlivesTheProcess(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, _ := open(t, disk)
	s.Put(t.Context(), "nvml", 1, none, message("a", "b"))
	s.Put(t.Context(), "nvml", 2, none, message("c"))
	assert.Equal(t, 3, s.Waiting())

	s, _, log := open(t, disk.Copy())
	<-s.Added()
	assert.Equal(t, 3, s.Waiting())
	known := 0
	assert.True(t, s.Load(t.Context(), "nvml", &known))
	assert.Equal(t, 2, known)
	assert.False(t, s.Load(t.Context(), "amdgpu", &known))
	assert.Equal(t, []string{"a", "b", "c"}, drain(t, s))
	assert.Zero(t, s.Waiting())
	assert.Zero(t, log.Len(), log.All())
}

func TestWhatWasAcceptedIsRemoved(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, _ := open(t, disk)
	for i := range 5 {
		s.Put(t.Context(), "nvml", i, none, message(strconv.Itoa(i)))
	}
	drain(t, s)
	keys := disk.Keys()
	slices.Sort(keys)
	assert.Equal(t, []string{"queue", "state/nvml"}, keys)
	s, _, _ = open(t, disk.Copy())
	s.Put(t.Context(), "nvml", 6, none, message("6"))
	assert.Equal(t, []string{"6"}, drain(t, s))
	s.Forget(t.Context(), "nvml")
	known := 0
	assert.False(t, s.Load(t.Context(), "nvml", &known))
}

// A record that is not complete is sent if the process ends, once, and not if it was completed.
func TestOpenRecords(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, _ := open(t, disk)
	s.Put(t.Context(), "nvml", 1, message("sum"), none)
	assert.Zero(t, s.Waiting())
	killed := disk.Copy()
	s.Put(t.Context(), "nvml", 1, none, message("whole"))
	assert.Equal(t, []string{"whole"}, drain(t, s))

	known := 0
	s, _, _ = open(t, killed)
	assert.True(t, s.Load(t.Context(), "nvml", &known))
	again := killed.Copy() // killed once more, before it was sent
	assert.Equal(t, []string{"sum"}, drain(t, s))
	s, _, _ = open(t, again)
	assert.True(t, s.Load(t.Context(), "nvml", &known))
	assert.Equal(t, []string{"sum"}, drain(t, s))
}

type crash struct{ left int }

func (c *crash) step() {
	if c.left--; c.left < 0 {
		panic(c)
	}
}

// The process ends between each two steps: before and after each operation of the storage, and before and after a consumer accepts. Each change
// is sent, and has one UID however often it is sent.
func TestCrashBetweenEachTwoSteps(t *testing.T) {
	const changes = 6
	for offset := 0; ; offset++ {
		disk, requests, run := &checkpointtest.Storage{}, map[int]map[string]bool{}, 0
		// process makes a change after what it knows, until there are enough, and sends what waits with every second one.
		process := func(c *crash) (crashed bool) {
			defer func() {
				if r := recover(); r != nil {
					crashed = true
					if r != c {
						panic(r)
					}
				}
			}()
			run++
			disk = disk.Copy()
			disk.Step(c.step)
			s, _, log := open(t, disk)
			known := 0
			s.Load(t.Context(), "nvml", &known)
			deliver := func() {
				for {
					logs, number, ok := s.First()
					if !ok {
						return
					}
					c.step()
					for _, uid := range uidsOf(logs) {
						var change, delta int
						_, err := fmt.Sscanf(uid, "%d by %d", &change, &delta)
						require.NoError(t, err)
						if requests[change] == nil {
							requests[change] = map[string]bool{}
						}
						requests[change][uid] = true
					}
					c.step()
					s.Accepted(t.Context(), number)
				}
			}
			for known < changes {
				known++
				s.Put(t.Context(), "nvml", known, none, message(fmt.Sprintf("%d by %d", known, run)))
				if known%2 == 0 {
					deliver()
				}
			}
			deliver()
			assert.Zero(t, log.Len(), log.All())
			return false
		}
		crashed := process(&crash{offset})
		process(&crash{offset / 2}) // and once more
		require.False(t, process(&crash{1 << 30}))
		for change := 1; change <= changes; change++ {
			assert.Len(t, requests[change], 1, "change %d, crash at step %d: %v", change, offset, requests[change])
		}
		if !crashed {
			require.Greater(t, offset, 30, "all steps")
			return
		}
	}
}

// A storage that fails is logged once. Events are sent all the same, and are stored when it works again.
func TestStorageThatFails(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, log := open(t, disk)
	s.Put(t.Context(), "nvml", 1, none, message("a"))
	disk.Fail(errors.New("no space left on device"))
	s.Put(t.Context(), "nvml", 2, none, message("b"))
	s.Put(t.Context(), "nvml", 3, none, message("c"))
	assert.Equal(t, []string{"a", "b", "c"}, drain(t, s))
	require.Equal(t, 1, log.Len())
	assert.Contains(t, log.All()[0].Message, "not stored")
	s.Put(t.Context(), "nvml", 4, none, message("d"))
	disk.Fail(nil)
	s.Put(t.Context(), "nvml", 5, none, none)
	require.Equal(t, 2, log.Len())
	assert.Equal(t, "Events and states are stored again", log.All()[1].Message)

	s, _, _ = open(t, disk.Copy())
	known := 0
	assert.True(t, s.Load(t.Context(), "nvml", &known))
	assert.Equal(t, 5, known)
	assert.Equal(t, []string{"d"}, drain(t, s), "a was removed as well")
}

// A change that could not be stored is stored later together with its record, with the next write of any source: otherwise a restart would
// find it again.
func TestChangeIsStoredWithItsRecord(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, _ := open(t, disk)
	s.Put(t.Context(), "nvml", 1, none, none)
	disk.Fail(errors.New("no space left on device"))
	s.Put(t.Context(), "nvml", 2, none, message("to 2"), checkpoint.Part{Name: "p", Value: "of 2"})
	disk.Fail(nil)
	s.Put(t.Context(), "amdgpu", 1, none, none)

	s, _, _ = open(t, disk.Copy())
	known := 0
	assert.True(t, s.Load(t.Context(), "nvml", &known))
	assert.Equal(t, 2, known)
	assert.Equal(t, map[string]string{"p": `"of 2"`}, partsOf(s, "nvml"))
	assert.Equal(t, []string{"to 2"}, drain(t, s))
}

// The oldest records are dropped when too many wait. They are counted, and logged once.
func TestTooManyWait(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, dropped, log := open(t, disk)
	uids := make([]string, 1000)
	for i := range uids {
		uids[i] = strconv.Itoa(i)
	}
	for range 12 {
		s.Put(t.Context(), "nvml", 1, none, message(uids...))
	}
	assert.Equal(t, 2000, *dropped)
	assert.Equal(t, 10_000, s.Waiting())
	assert.Equal(t, 1, log.Len())
	assert.Len(t, disk.Keys(), 12, "ten messages, the queue and the state")
	first, number, _ := s.First()
	s.Put(t.Context(), "nvml", 1, none, message(uids...))
	s.Accepted(t.Context(), number)
	assert.Equal(t, 1000, first.LogRecordCount())
	assert.Equal(t, 10_000, s.Waiting(), "what was dropped while it was sent is not removed twice")
	drain(t, s)
	assert.Len(t, disk.Keys(), 2)

	s.Put(t.Context(), "nvml", 1, none, message("x"+string(make([]byte, 20<<20))))
	assert.Equal(t, 3001, *dropped, "one that alone is too large")
	assert.Equal(t, 2, log.Len())
}

func TestStateThatIsTooLarge(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, log := open(t, disk)
	s.Put(t.Context(), "nvml", strings.Repeat("x", 5<<20), none, message("a"))
	s.Put(t.Context(), "nvml", strings.Repeat("x", 5<<20), none, none)
	assert.Equal(t, 1, log.Len())
	s, _, _ = open(t, disk.Copy())
	assert.Equal(t, []string{"a"}, drain(t, s))

	s.Put(t.Context(), "nvml", 1, none, none)
	s.Put(t.Context(), "nvml", strings.Repeat("x", 5<<20), none, message("b"))
	s, _, _ = open(t, disk.Copy())
	known := 0
	assert.False(t, s.Load(t.Context(), "nvml", &known), "an old state would have the change found again")
}

// What is garbage, or of another version, is logged and not used.
func TestGarbage(t *testing.T) {
	for name, c := range map[string]struct{ key, value string }{
		"state":                    {"state/nvml", "{"},
		"state of another version": {"state/nvml", `{"version":2,"known":[1]}`},
		"no state":                 {"state/nvml", `null`},
		"state of another kind":    {"state/nvml", `{"version":1,"written":"2999-01-01T00:00:00Z","known":"text"}`},
		"stale state":              {"state/nvml", `{"version":1,"written":"2020-01-01T00:00:00Z","known":1}`},
		"queue":                    {"queue", "queue"},
		"queue of another version": {"queue", `{"version":7,"first":"a"}`},
		"queue that is too long":   {"queue", `{"version":1,"first":1,"next":18446744073709551615}`},
		"queue that ends early":    {"queue", `{"version":1,"first":2,"next":1}`},
		"message":                  {"event/0", "garbage"},
		"message without records":  {"event/0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			disk := &checkpointtest.Storage{}
			s, _, _ := open(t, disk)
			s.Put(t.Context(), "nvml", 1, none, message("a"))
			require.NoError(t, disk.Set(t.Context(), c.key, []byte(c.value)))
			core, log := observer.New(zap.InfoLevel)
			s = checkpoint.Open(t.Context(), noWalk{disk}, zap.New(core), func(context.Context, int) {})
			known := 0
			s.Load(t.Context(), "nvml", &known)
			if c.value != "" {
				require.Equal(t, 1, log.Len(), log.All())
				assert.Contains(t, log.All()[0].ContextMap()["key"], c.key)
			}
			s.Put(t.Context(), "nvml", 2, none, message("b"))
			assert.Contains(t, drain(t, s), "b", "it goes on")
			assert.True(t, s.Load(t.Context(), "nvml", &known))
			assert.Equal(t, 2, known)
		})
	}
}

// noWalk is a storage that cannot list its keys.
type noWalk struct{ storage.Client }

// Keys to which nothing refers are removed if the storage can list its keys.
func TestStaleKeysAreRemoved(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, _ := open(t, disk)
	s.Put(t.Context(), "nvml", 1, none, message("a"))
	old, err := json.Marshal(map[string]any{"version": 1, "written": time.Now().Add(-8 * 24 * time.Hour), "known": 1})
	require.NoError(t, err)
	require.NoError(t, disk.Set(t.Context(), "state/gone", old))
	require.NoError(t, disk.Set(t.Context(), "event/77", []byte("left")))
	open(t, disk)
	keys := disk.Keys()
	slices.Sort(keys)
	assert.Equal(t, []string{"event/0", "queue", "state/nvml"}, keys)
}

func TestClose(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, log := open(t, disk)
	s.Put(t.Context(), "nvml", 1, none, message("a"))
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
	disk.Fail(errors.New("closed"))
	_, _, ok := s.First()
	assert.False(t, ok)
	s.Accepted(t.Context(), 0)
	s.Put(t.Context(), "nvml", 1, none, message("b"))
	assert.True(t, disk.Closed())
	assert.Zero(t, log.Len())
}

// Whatever the storage has, nothing panics, and what is stored next is found.
func FuzzStorage(f *testing.F) {
	f.Add([]byte(`{"version":1,"first":0,"next":2}`), []byte(`{"version":1,"written":"2999-01-01T00:00:00Z","known":{},"open":"CgA="}`), []byte("\n\x00"))
	f.Fuzz(func(t *testing.T, queue, state, event []byte) {
		disk := &checkpointtest.Storage{}
		for key, value := range map[string][]byte{"queue": queue, "state/nvml": state, "event/0": event, "event/1": event} {
			require.NoError(t, disk.Set(t.Context(), key, value))
		}
		s, _, _ := open(t, disk)
		var known any
		s.Load(t.Context(), "nvml", &known)
		s.Put(t.Context(), "nvml", 3, none, message("new"))
		s, _, _ = open(t, disk.Copy())
		require.True(t, s.Load(t.Context(), "nvml", &known))
		require.InDelta(t, 3, known, 0)
		uids := drain(t, s)
		require.Equal(t, "new", uids[len(uids)-1])
	})
}
