// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"bytes"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/otelgpu/gpureceiver/internal/series"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// owner is what has series: a container or a process, which only its resource distinguishes from another of the same name.
type owner struct {
	resource string   // container.id, or process.executable.name
	name     string   // on the points: k8s.container.name, or process.pid
	gpus     []string // that have a series each
	process  bool
}

// usage returns a message with the memory usage of some owners.
func usage(now time.Time, owners ...owner) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	for _, o := range owners {
		metric, id, name := "container.gpu.memory.usage", "container.id", "k8s.container.name"
		if o.process {
			metric, id, name = "process.gpu.memory.usage", "process.executable.name", "process.pid"
		}
		rm := metrics.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr(id, o.resource)
		m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName(metric)
		m.SetUnit("By")
		sum := m.SetEmptySum()
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for _, gpu := range o.gpus {
			dp := sum.DataPoints().AppendEmpty()
			dp.Attributes().PutStr("hw.id", gpu)
			dp.Attributes().PutStr(name, o.name)
			dp.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(-time.Hour)))
			dp.SetTimestamp(pcommon.NewTimestampFromTime(now))
			dp.SetIntValue(1)
		}
	}
	return metrics
}

// ending is one of consecutive messages, and the series that Prometheus then has: without the attributes of resources, and with them.
type ending struct {
	name        string
	owners      []owner
	flat, whole []string
}

// endings are three series of six that end, a container of the same name that restarts, a PID that execs, a failed read, and what returns.
func endings() []ending {
	trainer := func(gpus ...string) owner { return owner{"c1", "trainer", gpus, false} }
	server := func(id string) owner { return owner{id, "server", []string{"7"}, false} }
	process := func(executable string) owner { return owner{executable, "42", []string{"8"}, true} }
	return []ending{
		{
			"all live",
			[]owner{trainer("0", "1", "2", "3", "4", "5"), server("a"), process("sh")},
			[]string{"42 8", "server 7", "trainer 0", "trainer 1", "trainer 2", "trainer 3", "trainer 4", "trainer 5"},
			[]string{"a server 7", "c1 trainer 0", "c1 trainer 1", "c1 trainer 2", "c1 trainer 3", "c1 trainer 4", "c1 trainer 5", "sh 42 8"},
		},
		{
			"three of six end",
			[]owner{trainer("1", "3", "5"), server("a"), process("sh")},
			[]string{"42 8", "server 7", "trainer 1", "trainer 3", "trainer 5"},
			[]string{"a server 7", "c1 trainer 1", "c1 trainer 3", "c1 trainer 5", "sh 42 8"},
		},
		{
			"a container of the same name restarts",
			[]owner{trainer("1", "3", "5"), server("b"), process("sh")},
			[]string{"42 8", "server 7", "trainer 1", "trainer 3", "trainer 5"},
			[]string{"b server 7", "c1 trainer 1", "c1 trainer 3", "c1 trainer 5", "sh 42 8"},
		},
		{
			"a PID execs",
			[]owner{trainer("1", "3", "5"), server("b"), process("python3")},
			[]string{"42 8", "server 7", "trainer 1", "trainer 3", "trainer 5"},
			[]string{"b server 7", "c1 trainer 1", "c1 trainer 3", "c1 trainer 5", "python3 42 8"},
		},
		{
			"again, and one returns",
			[]owner{trainer("0", "1", "3"), server("c")},
			[]string{"server 7", "trainer 0", "trainer 1", "trainer 3"},
			[]string{"c server 7", "c1 trainer 0", "c1 trainer 1", "c1 trainer 3"},
		},
		{"a read fails", nil, nil, nil},
		{"the next read is good", []owner{server("c")}, []string{"server 7"}, []string{"c server 7"}},
	}
}

// TestEndedSeriesInPrometheus: what ends leaves the Prometheus endpoint with the next message, and nothing else does, whether series have
// the attributes of their resource or not.
func TestEndedSeriesInPrometheus(t *testing.T) {
	t.Parallel()
	otlp, flat, whole := freeAddress(t), freeAddress(t), freeAddress(t)
	process, err := harness.Collector(harness.Options{Binary: binary(t), Dir: t.TempDir()},
		strings.NewReplacer("OTLP", otlp, "FLAT", flat, "WHOLE", whole).Replace(gateway))
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	eventually(t, patience, "the collector serves", func() bool {
		connection, err := net.Dial("tcp", otlp)
		if err != nil {
			return false
		}
		_ = connection.Close()
		_, _, err = harness.Get(t.Context(), "http://"+whole+"/metrics")
		return err == nil
	})

	var tracker series.Tracker
	start := time.Now().Add(-time.Minute)
	for _, step := range endings() {
		start = start.Add(5 * time.Second)
		send(t, "http://"+otlp+"/v1/metrics", tracker.End(usage(start, step.owners...), pcommon.NewTimestampFromTime(start)))
		assert.Equal(t, step.flat, usages(t, flat), "%s, without resources", step.name)
		assert.Equal(t, step.whole, usages(t, whole), "%s, with resources", step.name)
	}
}

// send sends a message over OTLP. When send returns, a collector has passed it to its exporters, and Prometheus has stored it.
func send(t *testing.T, url string, metrics pmetric.Metrics) {
	t.Helper()
	body, err := pmetricotlp.NewExportRequestFromMetrics(metrics).MarshalProto()
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// usages returns the series of usage on a Prometheus endpoint.
func usages(t *testing.T, address string) []string {
	t.Helper()
	all := map[string]bool{}
	for _, s := range readPage(t, "http://"+address+"/metrics") {
		if strings.HasSuffix(s.Name, "_gpu_memory_usage_bytes") {
			all[ownerOf(s.Labels)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// ownerOf names a series of usage as endings does.
func ownerOf(labels map[string]string) string {
	return strings.TrimSpace(labels["container_id"] + labels["process_executable_name"] + " " +
		labels["k8s_container_name"] + labels["process_pid"] + " " + labels["hw_id"])
}

// TestEndedProcessesInPrometheus: the series of processes that end and of a GPU that is lost leave the endpoint with the read that no
// longer has them. The fault of a GPU that comes back is 0.
func TestEndedProcessesInPrometheus(t *testing.T) {
	t.Parallel()
	const workers = "gpus = 2\n[process worker]\ngpu = *\ncount = COUNT\npid = 40001\nmemory = 1Gi\nsm = 1\n"
	config := func(count string) string { return strings.ReplaceAll(workers, "COUNT", count) }
	n := start(t, spec{scenario: config("6")})
	n.next("two GPUs", full(2))
	sentValues := func(name string, labels ...string) (values []float64) {
		for _, s := range n.metrics() {
			if s.Name == name && (len(labels) == 0 || s.Labels[labels[0]] == labels[1]) {
				values = append(values, s.Value)
			}
		}
		return values
	}
	eventually(t, patience, "twelve", func() bool { return len(sentValues("process_gpu_memory_usage_bytes")) == 12 })
	n.set(config("3"))
	eventually(t, patience, "six have ended", func() bool { return len(sentValues("process_gpu_memory_usage_bytes")) == 6 })
	n.set(config("3") + "[fault f]\ngpu = 1\nkind = lost")
	eventually(t, patience, "a GPU is lost", func() bool {
		return len(sentValues("hw_power_watts")) == 1 && slices.Equal(sentValues("hw_gpu_fault", "error_type", "lost"), []float64{1})
	})
	n.set(config("3"))
	eventually(t, patience, "it is back", func() bool {
		return len(sentValues("hw_power_watts")) == 2 && slices.Equal(sentValues("hw_gpu_fault", "error_type", "lost"), []float64{0})
	})
	n.interrupt()
}
