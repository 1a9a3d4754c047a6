// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
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

func nodeOf(devices ...gpu.Device) *gpu.Node { return &gpu.Node{Vendor: gpu.NVIDIA, Devices: devices} }

func healthy(id string) gpu.Device { return gpu.Device{ID: id, Vendor: gpu.NVIDIA} }

func eventLines(events []gpu.Event) []string {
	all := []string{}
	for _, e := range events {
		kind := map[gpu.EventType]string{gpu.EventProcessStarted: "started", gpu.EventProcessExited: "exited"}[e.Type]
		all = append(all, fmt.Sprintf("%s %d on %s: %s", kind, e.Process.PID, e.DeviceID, e.Message))
	}
	return all
}

func TestProcessChanges(t *testing.T) {
	c := &processChanges{}
	node := func() *gpu.Node { return nodeOf(healthy("GPU-1"), healthy("GPU-2")) }
	assert.Empty(t, eventLines(c.next(running(node(), "GPU-1", 1, 2))), "the processes of the first read make no events")
	assert.Equal(t, []string{
		"started 1 on GPU-2: python3 uses the GPU", "started 3 on GPU-1: python3 uses the GPU",
		"exited 2 on GPU-1: python3 does not use the GPU any more",
	}, eventLines(c.next(running(running(node(), "GPU-2", 1), "GPU-1", 1, 3))))

	unread := node()
	unread.Devices[0].ProcessesUnread = true
	assert.Equal(t, []string{"exited 1 on GPU-2: python3 does not use the GPU any more"}, eventLines(c.next(unread)))
	failed := node()
	failed.Problems = []gpu.Problem{{Kind: gpu.ProblemProcesses, What: "processes", Err: errors.New("not permitted")}}
	assert.Empty(t, eventLines(c.next(failed)))
	assert.Empty(t, eventLines(c.next(running(node(), "GPU-1", 1, 3))), "they went on")
	assert.Len(t, c.next(nodeOf(healthy("GPU-2"))), 2, "with the device")
	assert.Empty(t, c.last)

	// Another process under the same id; the time at which it was created may be known a little late.
	created := func(seconds int64) *gpu.Node {
		n := running(node(), "GPU-1", 7)
		if seconds > 0 {
			n.Processes[0].Created = time.Unix(seconds, 0)
		}
		return n
	}
	assert.Len(t, c.next(created(0)), 1)
	assert.Empty(t, c.next(created(5)))
	assert.Equal(t, []string{
		"exited 7 on GPU-1: python3 does not use the GPU any more", "started 7 on GPU-1: python3 uses the GPU",
	}, eventLines(c.next(created(6))))

	var off *processChanges
	assert.Empty(t, off.next(node()))
}

// The event of a process that has ended has its container, which the process table has no longer.
func TestExitedProcessHasItsContainer(t *testing.T) {
	c := &processChanges{last: map[processKey]*gpu.Process{}}
	first := running(nodeOf(healthy("GPU-1")), "GPU-1", 1)
	first.Processes[0].Container = &gpu.Container{PodName: "train-0"}
	require.Len(t, c.next(first), 1)
	require.Empty(t, c.next(running(nodeOf(healthy("GPU-1")), "GPU-1", 1)))
	events := c.next(nodeOf(healthy("GPU-1")))
	require.Len(t, events, 1)
	assert.Equal(t, "train-0", events[0].Process.Container.PodName)
}
