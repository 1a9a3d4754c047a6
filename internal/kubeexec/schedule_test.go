// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
)

func TestSlots(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := newSlots(interval, "c", "n1")
	first := s.next(now)
	assert.LessOrEqual(t, first.Sub(now), interval)
	assert.Equal(t, first.Add(interval), s.next(first), "strictly after")
	assert.Equal(t, first, s.next(first.Add(-1)))
	assert.Equal(t, first, newSlots(interval, "c", "n1").next(now), "the same after a restart")
	assert.NotEqual(t, first, newSlots(interval, "d", "n1").next(now), "clusters are spread, too")

	const nodes = 3000
	var tenths [10]int
	for i := range nodes {
		tenths[newSlots(interval, "c", fmt.Sprintf("gpu-node-%d", i)).next(now).Sub(now)*10/(interval+1)]++
	}
	for _, n := range tenths {
		assert.InDelta(t, nodes/10, n, nodes/30, "even over the interval: %v", tenths)
	}
}

func TestBackoff(t *testing.T) {
	assert.Zero(t, pause(interval, 0))
	assert.Zero(t, pause(interval, 1))
	for failures, want := range map[int]time.Duration{2: interval, 3: 2 * interval, 4: 4 * interval, 5: 8 * interval, 6: maxBackoff, 99: maxBackoff} {
		got := pause(interval, failures)
		assert.InDelta(t, want.Seconds(), got.Seconds(), want.Seconds()/4+1, "%d", failures)
	}
	assert.InDelta(t, 600, pause(10*time.Minute, 9).Seconds(), 151)
}

func TestFleetSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, machines, s, plans := bare(16, 200)
		c.follow(ctx, plans)
		time.Sleep(3 * interval)
		synctest.Wait()
		cancel()
		c.reading.Wait()
		assert.Zero(t, machines.overlaps)
		assert.LessOrEqual(t, machines.most, 10, "200 reads of 0.1 or 0.2 s in 30 s are about one at a time, if they are spread")
		for name := range plans {
			good, failed, node, _ := s.state("c/" + name)
			assert.InDelta(t, 3, good, 1, name)
			assert.Zero(t, failed)
			assert.Equal(t, gpu.Host{NodeName: name, ClusterName: "c"}, node.Host)
			times := machines.times(name)
			for i := 2; i < len(times); i++ {
				assert.InDelta(t, interval.Seconds(), times[i].Sub(times[i-1]).Seconds(), 0.2)
			}
		}
		assert.Zero(t, c.stats().Skipped)
	})
}

// More reads than there is time for: no read starts while another of the same node is outstanding, and never more than max_concurrent run.
func TestFleetOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, machines, _, plans := bare(4, 60)
		machines.takes = 5 * time.Second
		c.follow(ctx, plans)
		time.Sleep(10 * interval)
		cancel()
		c.reading.Wait()
		assert.Equal(t, 4, machines.most)
		assert.Zero(t, machines.overlaps)
		assert.Positive(t, c.stats().Skipped)
		least := 99
		for name := range plans {
			least = min(least, len(machines.times(name)))
		}
		assert.Positive(t, least, "each gets its turn")
	})
}

// One driver pod is replaced and another removed while their nodes wait for their turn: the pod that exists at that time is read.
func TestPlanChangesWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, machines, s, plans := bare(1, 2)
		c.pauseIfAsked(&exec.Refusal{Code: 429, RetryAfter: 2 * interval})
		c.follow(ctx, plans)
		time.Sleep(interval + time.Second)
		c.follow(ctx, map[string]*plan{"node-0": planOf(c, "younger", "second"), "node-1": withoutPod("node-1")})
		time.Sleep(4 * interval)
		assert.Empty(t, machines.times("node-0"))
		assert.Empty(t, machines.times("node-1"))
		assert.Greater(t, len(machines.times("younger")), 2, "the other one gave its place back")
		good, failed, _, _ := s.state("c/node-0")
		assert.Greater(t, good, 2)
		assert.Zero(t, failed)
		cancel()
		c.reading.Wait()
	})
}

func TestFleetBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, machines, s, plans := bare(4, 2)
		machines.failing["node-0"] = io.ErrUnexpectedEOF
		c.follow(ctx, plans)
		time.Sleep(40 * interval)
		_, failed, _, err := s.state("c/node-0")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.InDelta(t, 40, failed, 2, "it is known in each interval that the node cannot be read")
		good, _, _, _ := s.state("c/node-1")
		assert.InDelta(t, 40, good, 1, "the others are read all the same")
		stats := c.stats()
		assert.Equal(t, "node-0", stats.Nodes[0].Node)
		assert.Less(t, stats.Nodes[0].Failures, 12)
		assert.Greater(t, stats.Nodes[0].Failures, 4)
		assert.False(t, stats.Nodes[0].Success)
		assert.Zero(t, stats.Nodes[0].LastGood)
		assert.True(t, stats.Nodes[0].Read)
		assert.True(t, stats.Nodes[1].Success)
		assert.Positive(t, stats.Nodes[1].Duration)
		assert.LessOrEqual(t, time.Since(stats.Nodes[1].LastGood), interval)

		// Another container ends the back-off.
		machines.set(func() { delete(machines.failing, "node-0") })
		plans["node-0"] = planOf(c, "node-0", "second")
		c.follow(ctx, plans)
		time.Sleep(interval + time.Second)
		good, _, _, _ = s.state("c/node-0")
		assert.Equal(t, 1, good)
		cancel()
		c.reading.Wait()
	})
}

// The API server asks for a pause: no node is read during it.
func TestFleetThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, machines, s, plans := bare(4, 20)
		for name := range plans {
			machines.failing[name] = &exec.Refusal{Code: 429, RetryAfter: 2 * time.Minute}
		}
		c.follow(ctx, plans)
		time.Sleep(interval)
		var requestTime time.Time
		reads := 0
		for name := range plans {
			for _, readTime := range machines.times(name) {
				reads++
				requestTime = readTime
			}
		}
		assert.Zero(t, reads, "help is what is asked for first")
		assert.Equal(t, int64(1), c.stats().Throttled)
		machines.set(func() { clear(machines.failing) })
		time.Sleep(time.Minute)
		for name := range plans {
			assert.Empty(t, machines.times(name), "in the pause, begun at %s", requestTime)
		}
		time.Sleep(2 * time.Minute)
		for name := range plans {
			good, _, _, _ := s.state("c/" + name)
			assert.Positive(t, good, name)
		}
		cancel()
		c.reading.Wait()
		assert.LessOrEqual(t, machines.most, 4)
	})
}

// A node with GPUs of two vendors is backed off when neither can be read.
func TestFailuresOfTwoVendors(t *testing.T) {
	c, _, _, _ := bare(1, 0)
	p := planOf(c, "n1", "first")
	p.jobs = append(p.jobs, job{target: &TargetConfig{Tool: ToolAMDSMI}})
	n := newNode(c, "n1", p)
	for _, tt := range []struct{ nvidia, amd, want int }{{0, 0, 0}, {3, 0, 0}, {0, 3, 0}, {3, 5, 3}, {5, 3, 3}} {
		n.stats = map[gpu.Vendor]*NodeStats{gpu.NVIDIA: {Failures: tt.nvidia}, gpu.AMD: {Failures: tt.amd}}
		assert.Equal(t, tt.want, n.failures(), "%+v", tt)
	}
	n.stats = map[gpu.Vendor]*NodeStats{gpu.NVIDIA: {Failures: 4}}
	assert.Zero(t, n.failures(), "the other was not read yet")
	n.plan = &plan{}
	assert.Zero(t, n.failures())
}
