// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// running adds processes on a device to a node.
func running(node *gpu.Node, device string, pids ...int64) *gpu.Node {
	for _, pid := range pids {
		node.Processes = append(node.Processes, gpu.Process{PID: pid, DeviceID: device, Executable: "python3"})
	}
	return node
}

func lines(events []gpu.Event) []string {
	all := []string{}
	for _, e := range events {
		kind := map[gpu.EventType]string{gpu.EventProcessStarted: "started", gpu.EventProcessExited: "exited"}[e.Type]
		all = append(all, fmt.Sprintf("%s %d on %s: %s", kind, e.Process.PID, e.DeviceID, e.Message))
	}
	return all
}

func TestProcessWatch(t *testing.T) {
	w := &processWatch{}
	node := func() *gpu.Node { return nodeOf(healthy("GPU-1"), healthy("GPU-2")) }
	assert.Empty(t, lines(w.changes(running(node(), "GPU-1", 1, 2))), "those of the first read are no news")
	assert.Equal(t, []string{
		"started 1 on GPU-2: python3 uses the GPU", "started 3 on GPU-1: python3 uses the GPU",
		"exited 2 on GPU-1: python3 does not use the GPU any more",
	}, lines(w.changes(running(running(node(), "GPU-2", 1), "GPU-1", 1, 3))))

	unread := node()
	unread.Devices[0].ProcessesUnread = true
	assert.Equal(t, []string{"exited 1 on GPU-2: python3 does not use the GPU any more"}, lines(w.changes(unread)))
	failed := node()
	failed.Problems = []gpu.Problem{{Kind: gpu.ProblemProcesses, What: "processes", Err: errors.New("not permitted")}}
	assert.Empty(t, lines(w.changes(failed)))
	assert.Empty(t, lines(w.changes(running(node(), "GPU-1", 1, 3))), "they were there all the time")
	assert.Len(t, w.changes(nodeOf(healthy("GPU-2"))), 2, "with the device")
	assert.Empty(t, w.last)

	// Another process under the same id; the time at which it was created may be known a little late.
	created := func(seconds int64) *gpu.Node {
		n := running(node(), "GPU-1", 7)
		if seconds > 0 {
			n.Processes[0].Created = time.Unix(seconds, 0)
		}
		return n
	}
	assert.Len(t, w.changes(created(0)), 1)
	assert.Empty(t, w.changes(created(5)))
	assert.Equal(t, []string{
		"exited 7 on GPU-1: python3 does not use the GPU any more", "started 7 on GPU-1: python3 uses the GPU",
	}, lines(w.changes(created(6))))

	var off *processWatch
	assert.Empty(t, off.changes(node()))
}

// Whose process has gone is told although the process table does not know it any more.
func TestProcessWatchKeepsTheContainer(t *testing.T) {
	w := &processWatch{last: map[processKey]*gpu.Process{}}
	first := running(nodeOf(healthy("GPU-1")), "GPU-1", 1)
	first.Processes[0].Container = &gpu.Container{PodName: "train-0"}
	require.Len(t, w.changes(first), 1)
	require.Empty(t, w.changes(running(nodeOf(healthy("GPU-1")), "GPU-1", 1)))
	events := w.changes(nodeOf(healthy("GPU-1")))
	require.Len(t, events, 1)
	assert.Equal(t, "train-0", events[0].Process.Container.PodName)
}

// The events of processes are sent where they are switched on, also beyond max_processes, by local scrapers and of remote nodes.
func TestProcessEventsAreSent(t *testing.T) {
	source := &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) {
		if read == 1 {
			return nodeOf(healthy("GPU-1")), nil
		}
		return running(nodeOf(healthy("GPU-1")), "GPU-1", 1, 2), nil
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.cfg.MaxProcesses = 1
	r.cfg.Events.ProcessGpuStarted.Enabled = true
	r.run(r.newLogs())
	eventually(t, func() bool { return r.logs.LogRecordCount() == 2 }, "both are told")
	assert.True(t, r.want.Has(gpu.GroupProcesses))
	assert.Equal(t, "process.gpu.started", records(r.logs)[1].EventName())

	cfg := fleetConfig(t, map[string]any{"name": "prod", "auth_type": "serviceAccount"})
	cfg.Events.ProcessGpuExited.Enabled = true
	sink := &consumertest.LogsSink{}
	f := attachedFleet(t, cfg, zap.NewNop(), nil, sink)
	f.send(t.Context(), "prod", running(nodeRead("a", healthy("GPU-1")), "GPU-1", 1, 2), nil)
	f.send(t.Context(), "prod", running(nodeRead("b", healthy("GPU-2")), "GPU-2", 1), nil)
	f.send(t.Context(), "prod", running(nodeRead("a", healthy("GPU-1")), "GPU-1", 2, 3), nil)
	require.Equal(t, 1, sink.LogRecordCount(), "1 has gone; that 3 has come is switched off")
	assert.Equal(t, "process.gpu.exited", records(sink)[0].EventName())
}
