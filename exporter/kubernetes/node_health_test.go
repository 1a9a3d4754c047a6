// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

const silence = 2 * time.Minute

// reading is the metrics of one read.
type reading struct {
	metrics pmetric.ResourceMetrics
	time    time.Time
}

func readAt(readTime time.Time) *reading { return &reading{pmetric.NewResourceMetrics(), readTime} }

// point adds a point; the attributes are pairs.
func (r *reading) point(metric string, value int64, attributes ...string) *reading {
	m := r.metrics.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName(metric)
	point := m.SetEmptySum().DataPoints().AppendEmpty()
	point.SetTimestamp(pcommon.NewTimestampFromTime(r.time))
	point.SetIntValue(value)
	for i := 0; i < len(attributes); i += 2 {
		point.Attributes().PutStr(attributes[i], attributes[i+1])
	}
	return r
}

// end adds the end of a series.
func (r *reading) end(metric string, attributes ...string) *reading {
	r.point(metric, 0, attributes...)
	scopes := r.metrics.ScopeMetrics()
	point := scopes.At(scopes.Len() - 1).Metrics().At(0).Sum().DataPoints().At(0)
	point.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
	point.SetTimestamp(pcommon.NewTimestampFromTime(r.time.Add(-time.Millisecond)))
	return r
}

var allStates = []string{"ok", "degraded", "failed", "predicted_failure"}

// gpu adds a GPU with its state.
func (r *reading) gpu(name, state string) *reading {
	r.point("hw.gpu.info", 1, "hw.id", "GPU-"+name, "hw.name", name)
	for _, s := range allStates {
		value := int64(0)
		if s == state {
			value = 1
		}
		r.point("hw.status", value, "hw.id", "GPU-"+name, "hw.name", name, "hw.state", s)
	}
	return r
}

// without ends the state of a GPU.
func (r *reading) without(name string) *reading {
	for _, s := range allStates {
		r.end("hw.status", "hw.id", "GPU-"+name, "hw.name", name, "hw.state", s)
	}
	return r
}

func (r *reading) source(name string, readable int64) *reading {
	return r.point("hw.gpu.source.readable", readable, "hw.gpu.source.name", name, "hw.vendor", "NVIDIA")
}

// healthAfter returns what a node's condition says after its readings, at a time.
func healthAfter(now time.Time, readings ...*reading) verdict {
	h := newNodeHealth()
	for _, r := range readings {
		h.add(r.metrics, r.time, silence)
	}
	return h.verdict(now, silence)
}

func TestVerdicts(t *testing.T) {
	later := noon.Add(30 * time.Second)
	for name, c := range map[string]struct {
		readings []*reading
		want     verdict
	}{
		"nothing yet": {nil, verdict{"Unknown", "CollectorStarted", "the collector has started and has not read the GPUs yet"}},
		"healthy": {
			[]*reading{readAt(noon).source("nvml", 1).gpu("nvidia0", "ok").gpu("nvidia1", "ok")}, verdict{"True", "GPUsHealthy", "2 GPUs are ok"},
		},
		"one has failed": {
			[]*reading{readAt(noon).gpu("nvidia0", "ok").gpu("nvidia1", "failed").gpu("nvidia2", "degraded").
				point("hw.gpu.fault", 1, "hw.id", "GPU-nvidia1", "hw.name", "nvidia1", "error.type", "lost").
				point("hw.gpu.fault", 0, "hw.id", "GPU-nvidia1", "hw.name", "nvidia1", "error.type", "hung")},
			verdict{"False", "GPUFailed", "nvidia1: failed (lost), nvidia2: degraded"},
		},
		"one will fail": {
			[]*reading{readAt(noon).gpu("nvidia0", "ok").gpu("nvidia1", "predicted_failure")},
			verdict{"False", "GPUFailurePredicted", "nvidia1: predicted failure"},
		},
		"it recovers": {
			[]*reading{readAt(noon).gpu("nvidia0", "failed"), readAt(later).gpu("nvidia0", "ok")}, verdict{"True", "GPUsHealthy", "1 GPUs are ok"},
		},
		"the source fails": {
			[]*reading{
				readAt(noon).source("nvml", 1).gpu("nvidia0", "ok"),
				readAt(later).source("nvml", 0).without("nvidia0").
					point("hw.gpu.source.failure", 1, "hw.gpu.source.name", "nvml", "hw.vendor", "NVIDIA", "error.type", "library"),
			},
			verdict{"Unknown", "GPUsUnreadable", "nvml cannot be read (library), nvidia0 was not read"},
		},
		"one is not read any more": {
			[]*reading{readAt(noon).gpu("nvidia0", "ok").gpu("nvidia1", "ok"), readAt(later).gpu("nvidia0", "ok").without("nvidia1")},
			verdict{"Unknown", "GPUsUnreadable", "nvidia1 was not read"},
		},
		"what is known to be wrong counts more than what is not known": {
			[]*reading{readAt(noon).source("amdgpu", 0).gpu("nvidia0", "failed")}, verdict{"False", "GPUFailed", "nvidia0: failed"},
		},
		"one is taken out": {
			[]*reading{
				readAt(noon).gpu("nvidia0", "ok").gpu("nvidia1", "ok"),
				readAt(later).gpu("nvidia0", "ok").without("nvidia1").end("hw.gpu.info", "hw.id", "GPU-nvidia1", "hw.name", "nvidia1"),
			},
			verdict{"True", "GPUsHealthy", "1 GPUs are ok"},
		},
		"its series changes its name, the end comes last": {
			[]*reading{
				readAt(noon).gpu("nvidia0", "ok"),
				readAt(later).gpu("nvidia0", "ok").without("nvidia0").end("hw.gpu.info", "hw.id", "GPU-nvidia0", "hw.name", "old"),
			},
			verdict{"True", "GPUsHealthy", "1 GPUs are ok"},
		},
		"a partition": {
			[]*reading{readAt(noon).gpu("nvidia0", "ok").
				point("hw.status", 1, "hw.id", "MIG-1", "hw.parent", "GPU-nvidia0", "hw.name", "nvidia0:1", "hw.state", "ok")},
			verdict{"True", "GPUsHealthy", "1 GPUs are ok"},
		},
		"missing": {
			[]*reading{readAt(noon).source("nvml", 1).gpu("nvidia0", "ok").
				point("hw.gpu.count", 2, "hw.gpu.presence", "missing", "hw.vendor", "NVIDIA").
				point("hw.gpu.count", 1, "hw.gpu.presence", "visible", "hw.vendor", "NVIDIA")},
			verdict{"False", "GPUMissing", "2 GPUs on the PCI bus are not shown by their driver"},
		},
		"not missing any more": {
			[]*reading{
				readAt(noon).gpu("nvidia0", "ok").point("hw.gpu.count", 1, "hw.gpu.presence", "missing", "hw.vendor", "NVIDIA"),
				readAt(later).gpu("nvidia0", "ok").point("hw.gpu.count", 0, "hw.gpu.presence", "missing", "hw.vendor", "NVIDIA"),
			},
			verdict{"True", "GPUsHealthy", "1 GPUs are ok"},
		},
		"no GPU": {[]*reading{readAt(noon).source("nvml", 1)}, verdict{"Unknown", "NoGPU", "no GPU was found"}},
		"something else": {
			[]*reading{readAt(noon).point("process.gpu.info", 1, "hw.id", "GPU-nvidia0")},
			verdict{"Unknown", "CollectorStarted", "the collector has started and has not read the GPUs yet"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, healthAfter(later, c.readings...))
		})
	}
}

// Silence is not health, of a node and of a GPU; nor is what comes late from a queue.
func TestSilence(t *testing.T) {
	healthy := func(readTime time.Time) *reading { return readAt(readTime).gpu("nvidia0", "ok").gpu("nvidia1", "ok") }
	assert.Equal(t, verdict{"True", "GPUsHealthy", "2 GPUs are ok"}, healthAfter(noon.Add(silence), healthy(noon)))
	assert.Equal(t, verdict{"Unknown", "NoMetrics", "no metrics since 2026-05-04T12:00:00Z"}, healthAfter(noon.Add(silence+time.Second), healthy(noon)))
	assert.Equal(t, verdict{"Unknown", "GPUsUnreadable", "nvidia1 was not read"},
		healthAfter(noon.Add(silence+time.Second), healthy(noon), readAt(noon.Add(time.Minute)).gpu("nvidia0", "ok")))

	h := newNodeHealth()
	h.add(healthy(noon).metrics, noon.Add(time.Hour), silence)
	assert.Equal(t, reasonStarted, h.verdict(noon.Add(time.Hour), silence).reason)

	h.add(healthy(noon).metrics, noon, silence)
	h.add(readAt(noon.Add(2*time.Hour)).gpu("nvidia0", "ok").metrics, noon.Add(2*time.Hour), silence)
	h.forget(noon.Add(2 * time.Hour))
	assert.Equal(t, verdict{"True", "GPUsHealthy", "1 GPUs are ok"}, h.verdict(noon.Add(2*time.Hour), silence))
}

// What is kept and posted is bounded for every sender.
func TestHealthIsBounded(t *testing.T) {
	r := readAt(noon)
	for i := range 3000 {
		r.gpu(fmt.Sprint("nvidia\x1b", strings.Repeat("x", 300), i), "failed")
		r.source(fmt.Sprint("source", i), 0)
		r.point("hw.gpu.fault", 1, "hw.id", "GPU-1", "error.type", strconv.Itoa(i))
		r.point("hw.gpu.count", 1, "hw.gpu.presence", "missing", "hw.vendor", strconv.Itoa(i))
	}
	for i := range 3000 {
		r.gpu(fmt.Sprint("a", i), "failed")
	}
	h := newNodeHealth()
	h.add(r.metrics, noon, silence)
	assert.Len(t, h.devices, maxDevices)
	assert.Len(t, h.sources, maxSources)
	assert.Len(t, h.missing, maxVendors)
	v := h.verdict(noon, silence)
	assert.LessOrEqual(t, len(v.message), maxMessage)
	assert.NotContains(t, v.message, "\x1b")
}
