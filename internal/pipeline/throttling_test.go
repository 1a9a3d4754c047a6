// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// throttledNode is a node at a time in seconds. Its device reports every reason, and these hold.
func throttledNode(seconds int, reasons ...gpu.ThrottleReason) *gpu.Node {
	d := healthy("GPU-1")
	d.Name = "nvidia0"
	for i := range d.Throttle {
		d.Throttle[i].Active = gpu.Some(false)
	}
	for _, reason := range reasons {
		d.Throttle[reason].Active = gpu.Some(true)
	}
	node := nodeOf(d)
	node.Time = time.Unix(int64(seconds), 0)
	return node
}

func TestThrottling(t *testing.T) {
	c := newThrottleChanges(time.Minute, 30*time.Second)
	assert.Empty(t, c.next(throttledNode(0)))
	assert.Empty(t, c.next(throttledNode(30, gpu.ThrottleHWThermal)))
	assert.Empty(t, c.next(throttledNode(60, gpu.ThrottleHWThermal, gpu.ThrottleHWSlowdown)), "not long enough")

	events := c.next(throttledNode(90, gpu.ThrottleHWSlowdown))
	require.Len(t, events, 1)
	started := events[0]
	assert.Equal(t, gpu.EventThrottledStarted, started.Type)
	assert.Equal(t, time.Unix(30, 0), started.Time, "when it began")
	assert.Equal(t, []gpu.ThrottleReason{gpu.ThrottleHWSlowdown, gpu.ThrottleHWThermal}, started.Throttle, "all since then")
	assert.Equal(t, gpu.Some(time.Minute), started.Lasted)
	assert.Equal(t, "GPU-1", started.DeviceID)

	assert.Empty(t, c.next(throttledNode(120, gpu.ThrottleSWThermal)), "once")
	events = c.next(throttledNode(150))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.EventThrottledEnded, events[0].Type)
	assert.Equal(t, time.Unix(150, 0), events[0].Time)
	assert.Equal(t, gpu.Some(2*time.Minute), events[0].Lasted)
	assert.Len(t, events[0].Throttle, 3)
	assert.Empty(t, c.next(throttledNode(180)), "once")
}

// Short throttling, and the reasons by which a GPU keeps its power limit, are not events.
func TestThrottlingOfNoInterest(t *testing.T) {
	c := newThrottleChanges(time.Minute, 30*time.Second)
	for i := range 10 {
		reasons := []gpu.ThrottleReason{gpu.ThrottleSWPowerCap, gpu.ThrottleSyncBoost, gpu.ThrottlePowerPPT, gpu.ThrottleCurrent, gpu.ThrottleFirmwareReason}
		if i%2 == 0 {
			reasons = append(reasons, gpu.ThrottleHWThermal)
		}
		assert.Empty(t, c.next(throttledNode(45*i, reasons...)))
	}
}

// Throttling that is present at the first read started before it, at an unknown time.
func TestThrottlingBeforeTheStart(t *testing.T) {
	c := newThrottleChanges(0, 30*time.Second)
	events := c.next(throttledNode(0, gpu.ThrottleHWPowerBrake))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Opt[time.Duration]{}, events[0].Lasted)
	events = c.next(throttledNode(30))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Opt[time.Duration]{}, events[0].Lasted)
}

// A GPU that cannot be read is neither throttled nor not.
func TestThrottlingOfUnreadGPU(t *testing.T) {
	unread := throttledNode(60)
	unread.Devices[0].Unread = true
	silent := throttledNode(60)
	silent.Devices[0].Throttle = [gpu.NumThrottleReasons]gpu.Throttle{}
	failed := &gpu.Node{Time: time.Unix(60, 0), Failure: &gpu.Failure{Reason: gpu.FailureToolMissing, Err: errors.New("no such file")}}
	for name, node := range map[string]*gpu.Node{"unread": unread, "no reason is reported": silent, "the source failed": failed} {
		t.Run(name, func(t *testing.T) {
			c := newThrottleChanges(0, 30*time.Second)
			assert.Empty(t, c.next(throttledNode(0)))
			assert.Len(t, c.next(throttledNode(30, gpu.ThrottleHWThermal)), 1)
			assert.Empty(t, c.next(node))
			assert.Empty(t, c.next(throttledNode(90, gpu.ThrottleHWThermal)), "it went on")
			assert.Empty(t, c.next(node))
			events := c.next(throttledNode(150))
			require.Len(t, events, 1)
			assert.Equal(t, gpu.Some(2*time.Minute), events[0].Lasted)
		})
	}
	c := newThrottleChanges(0, 30*time.Second)
	assert.Len(t, c.next(throttledNode(0, gpu.ThrottleHWThermal)), 1)
	assert.Empty(t, c.next(nodeOf()), "the GPU is gone")
	assert.Empty(t, c.next(throttledNode(60)))
}

// The start is known if a read shortly before found the device not throttled.
func TestBeginningOfThrottling(t *testing.T) {
	unread := func(seconds int) *gpu.Node {
		node := throttledNode(seconds)
		node.Devices[0].Unread = true
		return node
	}
	nodeAt := func(seconds int) *gpu.Node { return throttledNode(seconds) }
	other := nodeOf(healthy("GPU-2"))
	for name, test := range map[string]struct {
		before []*gpu.Node // a read at 600 s finds it
		known  bool
	}{
		"the read before":                {[]*gpu.Node{nodeAt(540), nodeAt(570)}, true},
		"one read failed":                {[]*gpu.Node{nodeAt(510), nodeAt(540), unread(570)}, true},
		"the GPU could not be read long": {[]*gpu.Node{nodeAt(30), nodeAt(60), unread(90), unread(570)}, false},
		"nothing was read long":          {[]*gpu.Node{nodeAt(30), nodeAt(60)}, false},
		"it was never read":              {[]*gpu.Node{unread(540), unread(570)}, false},
		"the GPU is new":                 {[]*gpu.Node{other}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newThrottleChanges(0, 30*time.Second)
			for _, node := range test.before {
				assert.Empty(t, c.next(node))
			}
			events := c.next(throttledNode(600, gpu.ThrottleHWThermal))
			require.Len(t, events, 1)
			assert.Equal(t, test.known, events[0].Lasted.Known())
		})
	}
}

// Throttling goes on over a restart, and what ended meanwhile was last seen before it.
func TestThrottlingIsRestored(t *testing.T) {
	before := newThrottleChanges(time.Minute, 30*time.Second)
	assert.Empty(t, before.next(throttledNode(0)))
	assert.Empty(t, before.next(throttledNode(30, gpu.ThrottleHWThermal)))
	assert.Len(t, before.next(throttledNode(90, gpu.ThrottleHWThermal)), 1)
	stored, err := json.Marshal(before.known())
	require.NoError(t, err)
	restart := func() *throttleChanges {
		var known map[string]Throttling
		require.NoError(t, json.Unmarshal(stored, &known))
		after := newThrottleChanges(time.Minute, 30*time.Second)
		after.restore(known)
		return &after
	}
	after := restart()
	assert.Empty(t, after.next(throttledNode(150, gpu.ThrottleHWThermal)), "it was sent")
	events := after.next(throttledNode(180))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(150*time.Second), events[0].Lasted)
	assert.Zero(t, events[0].LastSeen)

	events = restart().next(throttledNode(600))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(time.Minute), events[0].Lasted, "up to when it was seen")
	assert.Equal(t, time.Unix(90, 0).UTC(), events[0].LastSeen.UTC())
}
