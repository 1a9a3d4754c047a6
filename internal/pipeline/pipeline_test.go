// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

func lost(id string) gpu.Device {
	return gpu.Device{ID: id, Vendor: gpu.NVIDIA, Faults: []gpu.Fault{{Type: gpu.FaultLost, Message: "it fell off the bus"}}}
}

// newPipeline returns a pipeline whose options may be changed, its log, and the number of processes that it has dropped.
func newPipeline(change func(*Options)) (*Pipeline, *observer.ObservedLogs, *int) {
	core, log := observer.New(zap.InfoLevel)
	dropped := new(int)
	settings := receivertest.NewNopSettings(metadata.Type)
	options := Options{
		Logger: zap.New(core), Events: true, MaxProcesses: 2,
		Dropped:       func(_ context.Context, processes int) { *dropped += processes },
		Recorder:      record.New(metadata.NewDefaultMetricsBuilderConfig(), settings),
		EventRecorder: record.NewEvents(metadata.DefaultLogsBuilderConfig(), settings),
	}
	if change != nil {
		change(&options)
	}
	return New(options), log, dropped
}

func levels(log *observer.ObservedLogs) (result []zapcore.Level) {
	for _, entry := range log.All() {
		result = append(result, entry.Level)
	}
	return result
}

func TestPipeline(t *testing.T) {
	p, log, dropped := newPipeline(nil)
	host := gpu.Host{NodeName: "n1"}
	node := running(nodeOf(healthy("GPU-1"), lost("GPU-2")), "GPU-1", 1, 2, 3)
	node.Host, node.Events = host, []gpu.Event{{Type: gpu.EventXID, DeviceID: "GPU-1", XID: 79}}
	node.Processes[2].Memory = gpu.Some(int64(5))
	p.Take(t.Context(), node)
	assert.Equal(t, 1, *dropped)
	assert.Equal(t, []int64{3, 1}, []int64{node.Processes[0].PID, node.Processes[1].PID}, "those with the most memory stay")
	require.Equal(t, 1, log.Len())
	assert.Equal(t, "GPU unhealthy: GPU-2", log.All()[0].Message)
	assert.Positive(t, p.Metrics(node).DataPointCount())
	assert.Equal(t, 2, p.Logs(&host).LogRecordCount(), "the XID, and the changed state")
	assert.Zero(t, p.Logs(&host).LogRecordCount(), "once")

	p.Take(t.Context(), nodeOf(healthy("GPU-1"), healthy("GPU-2")))
	events := p.TakeEvents()
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(gpu.StateFailed), events[0].Previous)
	assert.Equal(t, "GPU healthy again: GPU-2", log.All()[1].Message)
}

// Events of processes are queued only if a pipeline wants them, and no events without a logs pipeline.
func TestPipelineEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		events, processes bool
		want              int
	}{
		"all":               {true, true, 2},
		"without processes": {true, false, 1},
		"none":              {false, true, 0},
	} {
		p, _, _ := newPipeline(func(o *Options) { o.Events, o.ProcessEvents = tt.events, tt.processes })
		p.Take(t.Context(), nodeOf(healthy("GPU-1")))
		p.Take(t.Context(), running(nodeOf(lost("GPU-1")), "GPU-1", 1))
		assert.Len(t, p.TakeEvents(), tt.want, name)
	}
}

// A problem of a vendor whose GPUs are not configured is for debugging until the machine has such a GPU.
func TestPipelineOptional(t *testing.T) {
	p, log, _ := newPipeline(func(o *Options) { o.Optional = true })
	node := nodeOf()
	node.Problems = []gpu.Problem{{Kind: gpu.ProblemSource, What: "library", Err: errors.New("not found")}}
	p.Take(t.Context(), node)
	assert.Zero(t, p.Unreadable())
	node.Presence[gpu.Missing] = gpu.Some(int64(1))
	p.Take(t.Context(), node)
	p.Take(t.Context(), node)
	assert.Equal(t, 1, p.Unreadable())
	assert.Equal(t, []zapcore.Level{zapcore.WarnLevel}, levels(log))
}

// A failed read is logged once and does not end the problems of earlier reads.
func TestPipelineFailed(t *testing.T) {
	p, log, _ := newPipeline(nil)
	node := nodeOf(healthy("GPU-1"))
	node.Problems = []gpu.Problem{{Device: "GPU-1", What: "power", Err: errors.New("not permitted")}}
	p.Take(t.Context(), node)
	for range 2 {
		failed := p.Failed(gpu.Host{NodeName: "n1"}, gpu.NVIDIA, time.Now(), errors.New("no answer"))
		assert.Empty(t, failed.Devices)
		assert.Equal(t, "n1", failed.Host.NodeName)
	}
	assert.Equal(t, 2, p.Unreadable())
	p.Take(t.Context(), node)
	assert.Equal(t, 1, p.Unreadable())
	var messages []string
	for _, entry := range log.All() {
		messages = append(messages, entry.Message)
	}
	assert.Equal(t, []string{"Read failed: power of GPU-1", "Read failed: read", "Read works again: read"}, messages)
}

type fakeSource struct {
	node *gpu.Node
	err  error
}

func (s fakeSource) Read(context.Context) (*gpu.Node, error) { return s.node, s.err }
func (fakeSource) Close() error                              { return nil }

type describer func(*gpu.Node)

func (d describer) Describe(_ context.Context, node *gpu.Node) { d(node) }

func TestReader(t *testing.T) {
	node := &gpu.Node{Devices: []gpu.Device{{Info: gpu.Info{PCIAddress: "0000:01:00.0"}}}}
	r := Reader{Source: fakeSource{node: node}, Processes: describer(func(n *gpu.Node) {
		assert.Equal(t, "n1/0000:01:00.0", n.Devices[0].ID, "identities come before processes")
		n.Problems = append(n.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable})
	})}
	start := time.Now()
	read, err := r.Read(t.Context(), gpu.Host{NodeName: "n1"})
	require.NoError(t, err)
	assert.Equal(t, "n1", read.Host.NodeName)
	assert.False(t, read.Time.Before(start), "a source need not set the time")
	assert.True(t, read.HasProblem(gpu.ProblemProcessTable))

	set := time.Unix(1, 0)
	node.Time = set
	read, err = (&Reader{Source: fakeSource{node: node}}).Read(t.Context(), gpu.Host{Name: "h"})
	require.NoError(t, err)
	assert.Equal(t, set, read.Time)

	_, err = (&Reader{Source: fakeSource{err: assert.AnError}}).Read(t.Context(), gpu.Host{})
	require.ErrorIs(t, err, assert.AnError)
}

func TestKeepLargest(t *testing.T) {
	node := &gpu.Node{}
	for pid, memory := range []gpu.Opt[int64]{{}, gpu.Some(int64(0)), gpu.Some(int64(7)), {}, gpu.Some(int64(9))} {
		node.Processes = append(node.Processes, gpu.Process{PID: int64(pid), Memory: memory})
	}
	assert.Zero(t, keepLargest(node, 5))
	assert.Equal(t, 1, keepLargest(node, 4))
	var pids []int64
	for _, p := range node.Processes {
		pids = append(pids, p.PID)
	}
	assert.Equal(t, []int64{4, 2, 1, 0}, pids, "0 bytes is more than unknown")
}
