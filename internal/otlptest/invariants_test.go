// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

func TestViolations(t *testing.T) {
	mine := map[string]any{"container.id": "c"}
	task := map[string]any{"hw.gpu.task": "general", "container.id": "c"}
	for want, spoil := range map[string]func(*message){
		"hw.gpu.utilization{hw.id=GPU-1} is NaN":            func(m *message) { m.add(m.host, "hw.gpu.utilization", "gauge", math.NaN(), nil) },
		"hw.gpu.utilization{hw.id=GPU-1} is negative: -1":   func(m *message) { m.add(m.host, "hw.gpu.utilization", "gauge", -1, nil) },
		"hw.gpu.utilization{hw.id=GPU-1} is more than 1: 2": func(m *message) { m.add(m.host, "hw.gpu.utilization", "gauge", 2, nil) },
		"hw.gpu.throttled{hw.id=GPU-1} is neither 0 nor 1: 0.5": func(m *message) {
			m.add(m.host, "hw.gpu.throttled", "updowncounter", 0.5, nil)
		},
		"2 points of hw.gpu.throttled{hw.id=GPU-1}": func(m *message) {
			m.add(m.host, "hw.gpu.throttled", "updowncounter", 1, nil)
			m.add(m.pod, "hw.gpu.throttled", "updowncounter", 1, nil)
		},
		"two resources {host.name=a}": func(m *message) { m.host.Resource().CopyTo(m.metrics.ResourceMetrics().AppendEmpty().Resource()) },
		"hw.power{hw.id=GPU-2} belongs to a device without hw.gpu.info": func(m *message) {
			m.add(m.host, "hw.power", "gauge", 1, nil).Attributes().PutStr("hw.id", "GPU-2")
		},
		"hw.power{hw.id=GPU-1,hw.name=nvidia0} lacks the identity of its device: {}": func(m *message) {
			m.add(m.host, "hw.power", "gauge", 1, map[string]any{"hw.name": "nvidia0"})
		},
		"GPU-1 has the states map[degraded:0 failed:0 ok:1 predicted_failure:0] and the faults [lost]": func(m *message) {
			m.add(m.host, "hw.gpu.fault", "updowncounter", 1, map[string]any{"error.type": "lost"})
		},
		"GPU-1 has 2 infos and the states map[degraded:0 failed:0 ok:1 predicted_failure:0]": func(m *message) {
			m.add(m.host, "hw.gpu.info", "updowncounter", 1, map[string]any{"hw.serial_number": "1"})
		},
		"GPU-1 is allocated: 0, to 1 containers": func(m *message) {
			m.add(m.host, "hw.gpu.allocated", "updowncounter", 0, map[string]any{"k8s.resource.name": "other"})
		},
		"container.gpu.power{container.id=d,hw.id=GPU-1} has a resource with container.id c": func(m *message) {
			m.add(m.host, "hw.power", "gauge", 1, nil)
			m.add(m.pod, "container.gpu.power", "gauge", 1, map[string]any{"container.id": "d"})
		},
		"GPU-1: containers draw 1 watts of [0.5]": func(m *message) {
			m.add(m.host, "hw.power", "gauge", 0.5, nil)
			m.add(m.pod, "container.gpu.power", "gauge", 1, mine)
		},
		"GPU-1: containers use 1 bytes of 0.5": func(m *message) {
			m.add(m.host, "hw.gpu.memory.usage", "gauge", 0.5, nil)
			m.add(m.pod, "container.gpu.memory.usage", "gauge", 1, mine)
		},
		"GPU-1: 1 bytes of 0.5 are used": func(m *message) {
			m.add(m.host, "hw.gpu.memory.usage", "gauge", 1, nil)
			m.add(m.host, "hw.gpu.memory.limit", "gauge", 0.5, nil)
		},
		"GPU-1: containers use 0.5 of the time for general, the device 0.25": func(m *message) {
			m.add(m.host, "hw.gpu.utilization", "gauge", 0.25, map[string]any{"hw.gpu.task": "general"})
			m.add(m.pod, "container.gpu.utilization", "gauge", 0.5, task)
		},
		"MIG-1 is a partition of GPU-2, which is not reported": func(m *message) {
			m.add(m.host, "hw.gpu.info", "updowncounter", 1, map[string]any{"hw.parent": "GPU-2"}).Attributes().PutStr("hw.id", "MIG-1")
		},
		"GPU-1 has partitions, and containers or processes of its own": func(m *message) {
			m.add(m.host, "hw.gpu.info", "updowncounter", 1, map[string]any{"hw.parent": "GPU-1"}).Attributes().PutStr("hw.id", "MIG-1")
		},
		"GPU-2 and GPU-3 have hw.gpu.index 0": func(m *message) {
			for _, id := range []string{"GPU-2", "GPU-3"} {
				m.add(m.host, "hw.gpu.info", "updowncounter", 1, map[string]any{"hw.gpu.index": int64(0)}).Attributes().PutStr("hw.id", id)
			}
		},
		"hw.gpu.info is in one scope twice": func(m *message) {
			twice := m.host.ScopeMetrics().At(0).Metrics()
			twice.At(0).CopyTo(twice.AppendEmpty())
		},
		"hw.energy is not cumulative": func(m *message) {
			m.add(m.host, "hw.energy", "counter", 1, nil)
			last := m.host.ScopeMetrics().At(m.host.ScopeMetrics().Len() - 1).Metrics().At(0)
			last.Sum().SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
		},
		"0 GPUs are counted, 1 are reported": func(m *message) {
			m.add(m.host, "hw.gpu.count", "updowncounter", 0, nil)
		},
	} {
		m := newMessage(t)
		require.Empty(t, Violations(m.metrics))
		spoil(m)
		assert.Contains(t, Violations(m.metrics), want)
	}
}

func TestTimeViolations(t *testing.T) {
	m := newMessage(t)
	assert.Empty(t, TimeViolations(m.metrics))
	m.add(m.host, "hw.energy", "counter", 1, nil).SetStartTimestamp(timestamp(1))
	m.add(m.host, "hw.power", "gauge", 1, nil).SetTimestamp(timestamp(1))
	m.add(m.host, "hw.gpu.io", "counter", 1, nil).SetStartTimestamp(0)
	assert.Equal(t, []string{
		"hw.energy{hw.id=GPU-1} starts after its time", "hw.power{hw.id=GPU-1} differs in time from the other points", "hw.gpu.io{hw.id=GPU-1} lacks a start time",
	}, TimeViolations(m.metrics))
}
