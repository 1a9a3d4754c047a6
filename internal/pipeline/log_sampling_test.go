// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// sampled returns a logger that drops what the Collector's logger drops by default (service::telemetry::logs::sampling).
func sampled() (*zap.Logger, *observer.ObservedLogs) {
	core, log := observer.New(zapcore.InfoLevel)
	return zap.New(zapcore.NewSamplerWithOptions(core, 10*time.Second, 10, 100)), log
}

// devicesOf returns the devices that the lines of an event name.
func devicesOf(log *observer.ObservedLogs, event string) map[string]bool {
	devices := map[string]bool{}
	for _, entry := range log.FilterMessageSnippet(event).All() {
		ids, _ := entry.ContextMap()["hw.id"].([]any)
		for _, id := range ids {
			devices[id.(string)] = true
		}
	}
	return devices
}

var words = []string{
	"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo", "lima", "mike", "november",
	"oscar", "papa",
}

// Each of 16 GPUs lacks a reading, and no explanation is lost, whether they lack the same or each another.
func TestNoProblemIsLostToSampling(t *testing.T) {
	for name, tt := range map[string]struct {
		problem func(i int, id string) gpu.Problem
		lines   int
	}{
		"the same": {func(_ int, id string) gpu.Problem {
			return gpu.Problem{Device: id, What: "power", Err: fmt.Errorf("nvml: %s: read power: not permitted", id)}
		}, 1},
		"each another": {func(i int, id string) gpu.Problem {
			return gpu.Problem{Device: id, What: words[i], Err: fmt.Errorf("nvml: %s: read %s: not permitted", id, words[i])}
		}, 16},
		"for other reasons": {func(i int, id string) gpu.Problem {
			return gpu.Problem{Device: id, What: "power", Err: errors.New("nvml: read power: " + words[i])}
		}, 16},
	} {
		t.Run(name, func(t *testing.T) {
			logger, log := sampled()
			l := NewProblemLog(logger, "")
			var problems []gpu.Problem
			for i := range 16 {
				problems = append(problems, tt.problem(i, fmt.Sprintf("GPU-%d", i)))
			}
			l.Update(problems, true)
			assert.Len(t, devicesOf(log, "Read failed"), 16)
			assert.Equal(t, tt.lines, log.Len())
			for _, entry := range log.All() {
				assert.NotEmpty(t, entry.ContextMap()["reason"])
			}
			l.Update(nil, true)
			assert.Len(t, devicesOf(log, "Read works again"), 16)
		})
	}
}

// The same of GPUs that are unhealthy.
func TestNoStateIsLostToSampling(t *testing.T) {
	for name, message := range map[string]func(i int) string{
		"the same reason": func(int) string { return "it fell off the bus" },
		"other reasons":   func(i int) string { return "it fell off the bus " + words[i] },
	} {
		t.Run(name, func(t *testing.T) {
			logger, log := sampled()
			l := newStateLog(logger, "")
			node, recovered := nodeOf(), nodeOf()
			for i := range 16 {
				d := lost(fmt.Sprintf("GPU-%d", i))
				d.Faults[0].Message = message(i)
				node.Devices, recovered.Devices = append(node.Devices, d), append(recovered.Devices, healthy(d.ID))
			}
			l.update(node, nil)
			assert.Len(t, devicesOf(log, "GPU unhealthy"), 16)
			l.update(recovered, nil)
			assert.Len(t, devicesOf(log, "GPU healthy again"), 16)
		})
	}
}

// One logger has the lines of all nodes that kubernetes_exec reads.
func TestNoNodeIsLostToSampling(t *testing.T) {
	logger, log := sampled()
	const nodes = 100
	for i := range nodes {
		node := fmt.Sprintf("n%d", i)
		p, _, _ := newPipeline(func(o *Options) {
			o.Logger, o.Where = logger.With(zap.String("k8s.node.name", node)), " on node "+node
		})
		p.Take(t.Context(), nodeOf(lost("GPU-1")))
		p.Failed(gpu.Host{NodeName: node}, gpu.NVIDIA, time.Now(), context.DeadlineExceeded)
		p.Take(t.Context(), nodeOf(healthy("GPU-1")))
	}
	for _, event := range []string{"GPU unhealthy", "Read failed", "Read works again", "GPU healthy again"} {
		got := map[any]bool{}
		for _, entry := range log.FilterMessageSnippet(event).All() {
			got[entry.ContextMap()["k8s.node.name"]] = true
		}
		require.Len(t, got, nodes, event)
	}
}
