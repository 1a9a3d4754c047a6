// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clusterevents

import (
	"cmp"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// load is how many pods there are at the start, and how many come in each minute, and go, for how many seconds.
type load struct{ atStart, perMinute, seconds int }

// loadOf returns GPURECEIVER_PODS, such as 5000:500:600, else a small load.
func loadOf(t *testing.T) (l load) {
	t.Helper()
	_, err := fmt.Sscanf(cmp.Or(os.Getenv("GPURECEIVER_PODS"), "300:600:15"), "%d:%d:%d", &l.atStart, &l.perMinute, &l.seconds)
	require.NoError(t, err)
	return l
}

// maxGrowth is how much more memory the last third of the time may need than the first.
const maxGrowth = 32 << 20

// memory is what a collector needed.
type memory struct{ samples []int64 }

func (m *memory) sample(t *testing.T, pid int) {
	t.Helper()
	anonymous, _, err := harness.Memory(pid)
	require.NoError(t, err)
	m.samples = append(m.samples, anonymous)
}

func most(samples []int64) (m int64) {
	for _, s := range samples {
		m = max(m, s)
	}
	return m
}

// Many pods at the start, and many that come and go: the records of each are complete and in order, none is dropped, and memory does not grow.
func TestManyPods(t *testing.T) {
	l := loadOf(t)
	c := newCluster(t, 10*time.Second)
	startedAt := time.Now()
	c.inParallel(l.atStart, func(i int) {
		name := fmt.Sprint("there-", i)
		c.create(name, fmt.Sprint("job-", i%100))
		c.bind(name)
	})
	t.Logf("%d pods made in %s", l.atStart, time.Since(startedAt).Round(time.Second))
	startedAt = time.Now()
	c.start()
	c.eventually("all pods that are there", func() bool { return c.count("k8s.pod.gpu.scheduled") == l.atStart })
	t.Logf("%d pods at the start: all records after %s", l.atStart, time.Since(startedAt).Round(100*time.Millisecond))

	var m memory
	startedAt = time.Now()
	total := l.perMinute * l.seconds / 60
	every := time.Minute / time.Duration(l.perMinute)
	var living sync.WaitGroup
	for i := range total {
		if wait := time.Until(startedAt.Add(time.Duration(i) * every)); wait > 0 {
			time.Sleep(wait)
		}
		living.Go(func() { c.live(fmt.Sprint("pod-", i)) })
		if i%(max(total/100, 1)) == 0 {
			m.sample(t, c.process.PID())
		}
	}
	living.Wait()
	took := time.Since(startedAt)
	c.eventually("all ends", func() bool { return c.count("k8s.pod.gpu.deleted") == total })
	m.sample(t, c.process.PID())
	highest, err := harness.HighestMemory(c.process.PID())
	require.NoError(t, err)
	cpu, err := harness.CPUTime(c.process.PID())
	require.NoError(t, err)
	dropped, counted := c.own("otelcol_gpu_events_dropped")
	assert.True(t, counted)
	assert.Zero(t, dropped)
	third := len(m.samples) / 3
	first, last := most(m.samples[:third]), most(m.samples[len(m.samples)-third:])
	t.Logf("%d pods came and went in %s; anonymous memory %d MiB at most in the first third, %d MiB in the last; %d MiB resident at most; %s of CPU",
		total, took.Round(time.Second), first>>20, last>>20, highest>>20, cpu.Round(time.Second))
	assert.Less(t, last, first+maxGrowth)

	_, _, err = c.process.Interrupt(patience)
	require.NoError(t, err)
	records := distinct(t, c.sink.Events())
	all := lives(t, records)
	assert.Len(t, all, l.atStart+total)
	for uid, l := range all {
		assert.Equal(t, 1, l.records["k8s.pod.gpu.scheduled"], uid)
	}
	require.NotZero(t, checkWorkloads(t, records))
	t.Logf("%d records", len(records))
}

// live makes a pod that gets a node, runs, ends and is deleted.
func (c *cluster) live(name string) {
	c.create(name, "job-of-short-pods")
	c.bind(name)
	c.status(name, corev1.PodRunning, 0)
	time.Sleep(2 * time.Second)
	c.status(name, corev1.PodSucceeded, 0)
	c.remove(name)
}

// inParallel calls do for each number.
func (c *cluster) inParallel(count int, do func(i int)) {
	const workers = 8
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() {
			for i := worker; i < count; i += workers {
				do(i)
			}
		})
	}
	running.Wait()
}

// count returns how many records of an event have arrived.
func (c *cluster) count(event string) (n int) {
	for _, record := range c.sink.Events() {
		if record.EventName() == event {
			n++
		}
	}
	return n
}
