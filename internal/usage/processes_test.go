// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// running adds processes on a device to a node.
func running(node *gpu.Node, device string, pids ...int64) *gpu.Node {
	for _, pid := range pids {
		node.Processes = append(node.Processes, gpu.Process{PID: pid, DeviceID: device, Executable: "python3"})
	}
	return node
}

func nodeOf(seconds int, devices ...string) *gpu.Node {
	node := &gpu.Node{Vendor: gpu.NVIDIA, Time: timeAt(seconds)}
	for _, id := range devices {
		node.Devices = append(node.Devices, gpu.Device{ID: id, Vendor: gpu.NVIDIA, HoldersKnown: true, HoldersComplete: true})
	}
	return node
}

func timeAt(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0).UTC() }

const interval = 10 * time.Second

func processTracker() *Tracker { return New(Options{Interval: interval, Processes: true}) }

func processLines(events []gpu.Event) []string {
	all := []string{}
	for _, e := range events {
		kind := map[gpu.EventType]string{gpu.EventProcessStarted: "started", gpu.EventProcessExited: "exited"}[e.Type]
		all = append(all, fmt.Sprintf("%s %d on %s: %s", kind, e.Process.PID, e.DeviceID, e.Message))
	}
	return all
}

func TestProcesses(t *testing.T) {
	c := processTracker()
	now := 0
	node := func() *gpu.Node { now += 10; return nodeOf(now, "GPU-1", "GPU-2") }
	assert.Empty(t, processLines(c.Next(running(node(), "GPU-1", 1, 2))), "the processes of the first read make no events")
	assert.Equal(t, []string{
		"started 3 on GPU-1: python3 uses the GPU", "started 1 on GPU-2: python3 uses the GPU",
		"exited 2 on GPU-1: python3 does not use the GPU any more",
	}, processLines(c.Next(running(running(node(), "GPU-1", 1, 3), "GPU-2", 1))))

	unread := node()
	unread.Devices[0].ProcessesUnread = true
	assert.Equal(t, []string{"exited 1 on GPU-2: python3 does not use the GPU any more"}, processLines(c.Next(unread)))
	failed := node()
	failed.Problems = []gpu.Problem{{Kind: gpu.ProblemProcesses, What: "processes", Err: errors.New("not permitted")}}
	assert.Empty(t, processLines(c.Next(failed)))
	assert.Empty(t, processLines(c.Next(running(node(), "GPU-1", 1, 3))), "they went on")
	now += 10
	assert.Len(t, c.Next(nodeOf(now, "GPU-2")), 2, "with the device")
	assert.Empty(t, c.State().Processes)

	// Another process under the same id; the time at which it was created may be known a little late.
	created := func(seconds int64) *gpu.Node {
		n := running(node(), "GPU-1", 7)
		if seconds > 0 {
			n.Processes[0].Created = time.Unix(seconds, 0)
		}
		return n
	}
	assert.Len(t, c.Next(created(0)), 1)
	assert.Empty(t, c.Next(created(5)))
	assert.Equal(t, []string{
		"exited 7 on GPU-1: python3 does not use the GPU any more", "started 7 on GPU-1: python3 uses the GPU",
	}, processLines(c.Next(created(6))))

	assert.Empty(t, New(Options{}).Next(running(node(), "GPU-1", 9)))
}

// The event of a process that has ended has its container, which the process table has no longer.
func TestExitedProcessHasItsContainer(t *testing.T) {
	c := processTracker()
	require.Empty(t, c.Next(nodeOf(0, "GPU-1")))
	first := running(nodeOf(10, "GPU-1"), "GPU-1", 1)
	first.Processes[0].Container = &gpu.Container{PodName: "train-0"}
	require.Len(t, c.Next(first), 1)
	require.Empty(t, c.Next(running(nodeOf(20, "GPU-1"), "GPU-1", 1)))
	events := c.Next(nodeOf(30, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, "train-0", events[0].Process.Container.PodName)
}

// busyProcess is one process with a utilization and memory.
func busyProcess(node *gpu.Node, busy float64, memory int64) *gpu.Node {
	node = running(node, "GPU-1", 1)
	node.Processes[0].Utilization[gpu.TaskGeneral] = gpu.Some(busy)
	node.Processes[0].Memory = gpu.Some(memory)
	return node
}

// The use of a process is computed from the reads that had it: 0.5 of 10 s and 0.25 of 10 s.
func TestUseOfAProcess(t *testing.T) {
	c := processTracker()
	c.Next(nodeOf(0, "GPU-1"))
	events := c.Next(busyProcess(nodeOf(10, "GPU-1"), 0.9, 100))
	require.Len(t, events, 1)
	assert.Equal(t, &gpu.Use{Start: timeAt(10), StartKnown: true}, events[0].Use)
	c.Next(busyProcess(nodeOf(20, "GPU-1"), 0.5, 400))
	c.Next(busyProcess(nodeOf(30, "GPU-1"), 0.25, 100))
	events = c.Next(nodeOf(40, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, &gpu.Use{
		Start: timeAt(10), StartKnown: true, End: timeAt(40), EndKnown: true, BusyTime: gpu.Some(7.5), IdleTime: gpu.Some(12.5),
		MemoryPeak: gpu.Some(int64(400)), MemoryMean: gpu.Some(int64(200)),
	}, events[0].Use)
}

// A read counts for the time since the one before, unless that was too long ago or did not have the process.
func TestUseOfAProcessOverAGap(t *testing.T) {
	c := processTracker()
	c.Next(nodeOf(0, "GPU-1"))
	c.Next(busyProcess(nodeOf(10, "GPU-1"), 0.9, 100))
	c.Next(busyProcess(nodeOf(1000, "GPU-1"), 0.5, 100))
	unread := nodeOf(1010, "GPU-1")
	unread.Devices[0].ProcessesUnread = true
	c.Next(unread)
	c.Next(busyProcess(nodeOf(1020, "GPU-1"), 0.5, 100))
	c.Next(busyProcess(nodeOf(1030, "GPU-1"), 0.25, 100))
	events := c.Next(nodeOf(1040, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, []gpu.Opt[float64]{gpu.Some(2.5), gpu.Some(7.5)}, []gpu.Opt[float64]{events[0].Use.BusyTime, events[0].Use.IdleTime})
}

// The start of a process that ran before the first read is not known. The end of a process that ended while nothing was read is not known.
func TestUnknownTimesOfAProcess(t *testing.T) {
	c := processTracker()
	c.Next(running(nodeOf(0, "GPU-1"), "GPU-1", 1))
	events := c.Next(nodeOf(1000, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, &gpu.Use{Start: timeAt(0), End: timeAt(0)}, events[0].Use)
}

// A tracker that goes on with the state of another one reports what that one would have.
func TestProcessesAreRestored(t *testing.T) {
	c := processTracker()
	c.Next(nodeOf(0, "GPU-1"))
	c.Next(busyProcess(nodeOf(10, "GPU-1"), 0.5, 100))
	c.Next(busyProcess(nodeOf(20, "GPU-1"), 0.5, 100))
	next := processTracker()
	next.Restore(stored(t, c.State()))
	events := next.Next(running(nodeOf(30, "GPU-1"), "GPU-1", 2))
	assert.Equal(t, []string{"started 2 on GPU-1: python3 uses the GPU", "exited 1 on GPU-1: python3 does not use the GPU any more"}, processLines(events))
	assert.True(t, events[0].Use.StartKnown)
	assert.Equal(t, gpu.Some(5.0), events[1].Use.BusyTime)
	assert.Equal(t, timeAt(10), events[1].Use.Start)
}

// stored returns a state that was written as JSON and read again.
func stored(t *testing.T, s State) State {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var read State
	require.NoError(t, json.Unmarshal(text, &read))
	again, err := json.Marshal(read)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again))
	return read
}
