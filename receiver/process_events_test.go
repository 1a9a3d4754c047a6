// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"testing"

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

// Process events are sent if enabled, also beyond max_processes, by local scrapers and for remote nodes.
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
	eventually(t, func() bool { return r.logs.LogRecordCount() == 2 }, "both are reported")
	assert.True(t, r.want.Has(gpu.GroupProcesses))
	assert.Equal(t, "process.gpu.started", records(r.logs)[1].EventName())

	cfg := fleetConfig(t, prod())
	cfg.Events.ProcessGpuExited.Enabled = true
	sink := &consumertest.LogsSink{}
	f := stoppedFleet(t, cfg, zap.NewNop(), nil, sink)
	f.send(t.Context(), "prod", running(nodeRead("a", healthy("GPU-1")), "GPU-1", 1, 2), nil)
	f.send(t.Context(), "prod", running(nodeRead("b", healthy("GPU-2")), "GPU-2", 1), nil)
	f.send(t.Context(), "prod", running(nodeRead("a", healthy("GPU-1")), "GPU-1", 2, 3), nil)
	require.Equal(t, 1, sink.LogRecordCount(), "1 has gone; that 3 has come is switched off")
	assert.Equal(t, "process.gpu.exited", records(sink)[0].EventName())
}
