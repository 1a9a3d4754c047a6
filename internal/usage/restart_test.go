// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// restarted returns a Tracker that goes on with what another one knows, which is written as JSON and read again.
func restarted(t *testing.T, c *Tracker) *Tracker {
	t.Helper()
	data, err := json.Marshal(c.State())
	require.NoError(t, err)
	var state State
	require.NoError(t, json.Unmarshal(data, &state))
	next := New(c.options)
	next.Restore(state)
	return next
}

// What used a device goes on over a restart while nothing shows the device: the driver is not loaded, does not answer, or has lost the GPU.
func TestRestartWhileADeviceCannotBeRead(t *testing.T) {
	using := func(seconds int, device string) *gpu.Node {
		return running(holding(nodeOf(seconds, "GPU-1", "GPU-2"), device, trainer("u", "a"), timeAt(0), 0, 0, 0), device, 1)
	}
	failed := func(seconds int) *gpu.Node {
		return &gpu.Node{Vendor: gpu.NVIDIA, Time: timeAt(seconds), Failure: &gpu.Failure{Reason: gpu.FailureDriver}}
	}
	for name, away := range map[string]func(int) *gpu.Node{
		"no driver": failed,
		"lost":      func(seconds int) *gpu.Node { return nodeOf(seconds, "GPU-2") },
		"lost and known by its address": func(seconds int) *gpu.Node {
			node := nodeOf(seconds, "GPU-2", "n1/0000:0a:00.0")
			node.Devices[1].ProcessesUnread = true
			node.Devices[1].AddFault(gpu.FaultLost, "lost")
			return node
		},
		"first no driver, then lost": func(seconds int) *gpu.Node {
			if seconds < 40 {
				return failed(seconds)
			}
			return nodeOf(seconds, "GPU-2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{Interval: interval, Allocations: true, Processes: true})
			c.Next(using(0, "GPU-1"))
			c.Next(using(10, "GPU-1"))
			c = restarted(t, c)
			for seconds := 20; seconds <= 50; seconds += 10 {
				assert.Empty(t, c.Next(away(seconds)))
			}
			c = restarted(t, c)
			assert.Empty(t, c.Next(away(60)))
			assert.Empty(t, c.Next(using(70, "GPU-1")), "both went on")
			assert.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventProcessExited}, kinds(c.Next(nodeOf(80, "GPU-1", "GPU-2"))))
		})
	}
}

// A device that does not come back within a day was removed; the end of its use is unknown. So is the end of a partition whose GPU was
// read.
func TestDevicesThatDoNotComeBackAfterARestart(t *testing.T) {
	start := func(parent string) *Tracker {
		c := New(Options{Interval: interval, Allocations: true, Processes: true})
		node := running(holding(nodeOf(0, "GPU-1", "GPU-2"), "GPU-1", trainer("u", "a"), timeAt(0), 0, 0, 0), "GPU-1", 1)
		node.Devices[0].Parent = parent
		c.Next(node)
		return restarted(t, c)
	}
	c := start("")
	day := int(unseenPeriod / time.Second)
	assert.Empty(t, c.Next(nodeOf(day, "GPU-2")))
	events := c.Next(nodeOf(day+10, "GPU-2"))
	require.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventProcessExited}, kinds(events))
	for _, e := range events {
		assert.False(t, e.Use.EndKnown)
		assert.Equal(t, timeAt(0), e.Use.End)
	}

	assert.Len(t, start("GPU-2").Next(nodeOf(10, "GPU-2")), 2)
	lost := nodeOf(10, "GPU-2", "GPU-3")
	lost.Devices[0].AddFault(gpu.FaultLost, "lost")
	assert.Empty(t, start("GPU-2").Next(lost))
}
