// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clusterevents

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	corev1 "k8s.io/api/core/v1"
)

// story is what was done to a pod.
type story struct {
	name, uid string
	bound     bool
	phase     corev1.PodPhase
	restarts  int32
	// gone: it was deleted, unseen: while no collector ran.
	removed, unseen bool
}

// killed is a cluster whose pods come and go at random.
type killed struct {
	*cluster
	random *rand.Rand
	number int
	pods   map[string]*story // by name: those that are there
	all    []*story
}

// change makes one change at random.
func (k *killed) change(running bool) {
	k.t.Helper()
	if kind := k.random.IntN(6); kind < 2 || len(k.pods) == 0 {
		k.number++
		name, job := fmt.Sprint("pod-", k.number), ""
		if n := k.random.IntN(4); n > 0 {
			job = fmt.Sprint("job-", n)
		}
		pod := k.create(name, job)
		s := &story{name: name, uid: string(pod.UID), phase: corev1.PodPending}
		k.pods[name] = s
		k.all = append(k.all, s)
		return
	}
	names := slices.Sorted(maps.Keys(k.pods))
	s := k.pods[names[k.random.IntN(len(names))]]
	switch {
	case k.random.IntN(4) == 0 || s.phase == corev1.PodSucceeded:
		k.remove(s.name)
		s.removed, s.unseen = true, !running
		delete(k.pods, s.name)
	case !s.bound:
		k.bind(s.name)
		s.bound = true
	case s.phase == corev1.PodPending:
		s.phase = corev1.PodRunning
		k.status(s.name, s.phase, s.restarts)
	case k.random.IntN(2) == 0:
		s.restarts++
		k.status(s.name, s.phase, s.restarts)
	default:
		s.phase = corev1.PodSucceeded
		k.status(s.name, s.phase, s.restarts)
	}
}

func (k *killed) arrived() []plog.LogRecord { return distinct(k.t, k.sink.Events()) }

// settled reports whether all that can be known of the pods has arrived.
func (k *killed) settled() bool {
	names := map[string]map[string]int{}
	for _, record := range k.sink.Events() {
		uid := text(record, "k8s.pod.uid")
		if names[uid] == nil {
			names[uid] = map[string]int{}
		}
		names[uid][record.EventName()]++
		names[uid][record.EventName()+text(record, "k8s.container.restart_count")]++
	}
	for _, s := range k.all {
		pods := names[s.uid]
		switch {
		case s.removed && pods["k8s.pod.gpu.created"] > 0 && pods["k8s.pod.gpu.deleted"] == 0,
			!s.removed && pods["k8s.pod.gpu.created"] == 0,
			!s.removed && s.bound && pods["k8s.pod.gpu.scheduled"] == 0,
			!s.removed && s.phase == corev1.PodRunning && pods["k8s.pod.gpu.phase"] == 0,
			!s.removed && s.phase == corev1.PodSucceeded && pods["k8s.pod.gpu.finished"] == 0,
			!s.removed && s.restarts > 0 && pods[fmt.Sprint("k8s.pod.gpu.restarted", s.restarts)] == 0:
			return false
		}
	}
	return true
}

// check checks all that has arrived against what was done.
func (k *killed) check() {
	t := k.t
	t.Helper()
	records := k.arrived()
	all := lives(t, records)
	known, vanished := 0, 0
	for _, s := range k.all {
		l := all[s.uid]
		if l == nil {
			assert.True(t, s.removed, "%s is there, and nothing has arrived of it", s.name)
			continue // it came and went while no collector ran, or before one had stored it
		}
		known++
		deleted := l.records["k8s.pod.gpu.deleted"]
		if !s.removed {
			assert.Zero(t, deleted, s.name)
			assert.Equal(t, int(s.restarts), l.restarts, "restarts of %s", s.name)
			assert.Equal(t, s.bound, l.records["k8s.pod.gpu.scheduled"] == 1, s.name)
			assert.Equal(t, s.bound, l.allocated == 1, s.name)
			assert.Equal(t, s.phase == corev1.PodSucceeded, l.records["k8s.pod.gpu.finished"] == 1, s.name)
			assert.Equal(t, s.phase == corev1.PodSucceeded, l.released == 1, s.name)
			continue
		}
		assert.Equal(t, 1, deleted, s.name)
		assert.Equal(t, l.allocated, l.released, "what %s had was released", s.name)
		if s.unseen {
			assert.NotEmpty(t, l.lastSeen, "%s went while no collector ran", s.name)
			vanished++
		}
	}
	workloads := checkWorkloads(t, records)
	t.Logf("%d pods, %d of them known, %d gone while no collector ran; %d records, %d of workloads, %d arrived again", len(k.all), known, vanished, len(records),
		workloads, len(k.sink.Events())-len(records))
	require.NotZero(t, vanished)
	require.NotZero(t, workloads)
}

// A collector that follows the pods of a real API server and is killed at random points loses nothing that the documentation says can be known, and
// sends nothing as new that it knew.
func TestPodsOutliveKills(t *testing.T) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("GPURECEIVER_KILLS"), "20"))
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("GPURECEIVER_SEED"); text != "" {
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("GPURECEIVER_SEED=%d", seed)
	k := &killed{cluster: newCluster(t, 200*time.Millisecond), random: rand.New(rand.NewPCG(seed, 0)), pods: map[string]*story{}}
	for range 5 {
		k.change(true)
	}
	k.start()
	k.read()
	startedAt := time.Now()
	for range kills {
		k.away.Store(k.random.IntN(2) == 0)
		for range k.random.IntN(8) {
			k.change(true)
			time.Sleep(time.Duration(k.random.IntN(200)) * time.Millisecond)
		}
		before := k.arrived()
		waits, _ := k.own("otelcol_gpu_events_waiting")
		k.process.Kill()
		for range k.random.IntN(4) {
			k.change(false)
		}
		k.start()
		k.read()
		if waits > 0 {
			k.away.Store(false)
			k.eventually("what waited arrives", func() bool {
				now, ok := k.own("otelcol_gpu_events_waiting")
				return ok && now == 0
			})
			assert.GreaterOrEqual(t, len(k.arrived()), len(before)+waits-lastMessage(before), "what waited, but for a message that had arrived")
		}
	}
	t.Logf("%d kills in %s", kills, time.Since(startedAt).Round(time.Second))
	k.away.Store(false)
	k.eventually("all that can be known arrives", k.settled)
	k.read()
	_, _, err = k.process.Interrupt(patience)
	require.NoError(t, err)
	k.check()
}

// lastMessage returns the number of records of the last message that arrived: those that were observed together.
func lastMessage(records []plog.LogRecord) (n int) {
	for _, r := range records {
		if r.ObservedTimestamp() == records[len(records)-1].ObservedTimestamp() {
			n++
		}
	}
	return n
}
