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

// owner is what has series: a container or a process, which only its resource tells from another of the same name.
type owner struct {
	resource string   // container.id, or process.executable.name
	name     string   // on the points
	gpus     []string // that have a series each
}

// usage returns a message with the memory usage of some owners.
func usage(at time.Time, owners ...owner) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	for _, o := range owners {
		rm := metrics.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("container.id", o.resource)
		m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName("container.gpu.memory.usage")
		m.SetUnit("By")
		sum := m.SetEmptySum()
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for _, gpu := range o.gpus {
			dp := sum.DataPoints().AppendEmpty()
			dp.Attributes().PutStr("hw.id", gpu)
			dp.Attributes().PutStr("k8s.container.name", o.name)
			dp.SetStartTimestamp(pcommon.NewTimestampFromTime(at.Add(-time.Hour)))
			dp.SetTimestamp(pcommon.NewTimestampFromTime(at))
			dp.SetIntValue(1)
		}
	}
	return metrics
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

	six := owner{"c1", "trainer", []string{"0", "1", "2", "3", "4", "5"}}
	one := func(resource string) owner { return owner{resource, "server", []string{"7"}} }
	var tracker series.Tracker
	at := time.Now().Add(-time.Minute)
	for _, step := range []struct {
		name   string
		owners []owner
		flat   []string
		whole  []string
	}{
		{
			"all live",
			[]owner{six, one("a")},
			[]string{"server 7", "trainer 0", "trainer 1", "trainer 2", "trainer 3", "trainer 4", "trainer 5"},
			[]string{"a server 7", "c1 trainer 0", "c1 trainer 1", "c1 trainer 2", "c1 trainer 3", "c1 trainer 4", "c1 trainer 5"},
		},
		{
			"three of six end",
			[]owner{{"c1", "trainer", []string{"1", "3", "5"}}, one("a")},
			[]string{"server 7", "trainer 1", "trainer 3", "trainer 5"},
			[]string{"a server 7", "c1 trainer 1", "c1 trainer 3", "c1 trainer 5"},
		},
		{
			"a container of the same name restarts",
			[]owner{{"c1", "trainer", []string{"1", "3", "5"}}, one("b")},
			[]string{"server 7", "trainer 1", "trainer 3", "trainer 5"},
			[]string{"b server 7", "c1 trainer 1", "c1 trainer 3", "c1 trainer 5"},
		},
		{
			"again, and one returns",
			[]owner{{"c1", "trainer", []string{"0", "1", "3"}}, one("c")},
			[]string{"server 7", "trainer 0", "trainer 1", "trainer 3"},
			[]string{"c server 7", "c1 trainer 0", "c1 trainer 1", "c1 trainer 3"},
		},
		{"a read fails", nil, nil, nil},
		{"the next read is good", []owner{one("c")}, []string{"server 7"}, []string{"c server 7"}},
	} {
		at = at.Add(5 * time.Second)
		send(t, otlp, tracker.End(usage(at, step.owners...), pcommon.NewTimestampFromTime(at)))
		assert.Equal(t, step.flat, usages(t, flat), "%s, without resources", step.name)
		assert.Equal(t, step.whole, usages(t, whole), "%s, with resources", step.name)
	}
}

// send sends a message by OTLP. The collector has passed it to its exporters when send returns.
func send(t *testing.T, address string, metrics pmetric.Metrics) {
	t.Helper()
	body, err := pmetricotlp.NewExportRequestFromMetrics(metrics).MarshalProto()
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/metrics", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// usages returns the series of container.gpu.memory.usage on a Prometheus endpoint.
func usages(t *testing.T, address string) []string {
	t.Helper()
	all := map[string]bool{}
	for _, s := range readPage(t, "http://"+address+"/metrics") {
		if s.Name == "container_gpu_memory_usage_bytes" {
			all[strings.TrimSpace(s.Labels["container_id"]+" "+s.Labels["k8s_container_name"]+" "+s.Labels["hw_id"])] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// TestEndedProcessesInPrometheus: the series of processes that end, and those of a GPU that is lost, leave the endpoint with the read that
// no longer has them. The fault of a GPU that comes back is 0.
func TestEndedProcessesInPrometheus(t *testing.T) {
	t.Parallel()
	const workers = "gpus = 2\n[process worker]\ngpu = *\ncount = COUNT\npid = 40001\nmemory = 1Gi\nsm = 1\n"
	with := func(count string) string { return strings.ReplaceAll(workers, "COUNT", count) }
	n := start(t, spec{scenario: with("6"), replace: map[string]string{"metric_expiration: 2s": "metric_expiration: 5m"}})
	n.next("two GPUs", full(2))
	sent := func(name string, labels ...string) (values []float64) {
		for _, s := range n.metrics() {
			if s.Name == name && (len(labels) == 0 || s.Labels[labels[0]] == labels[1]) {
				values = append(values, s.Value)
			}
		}
		return values
	}
	eventually(t, patience, "twelve", func() bool { return len(sent("process_gpu_memory_usage_bytes")) == 12 })
	n.set(with("3"))
	eventually(t, patience, "six have ended", func() bool { return len(sent("process_gpu_memory_usage_bytes")) == 6 })
	n.set(with("3") + "[fault f]\ngpu = 1\nkind = lost")
	eventually(t, patience, "a GPU is lost", func() bool {
		return len(sent("hw_power_watts")) == 1 && slices.Equal(sent("hw_gpu_fault", "error_type", "lost"), []float64{1})
	})
	n.set(with("3"))
	eventually(t, patience, "it is back", func() bool {
		return len(sent("hw_power_watts")) == 2 && slices.Equal(sent("hw_gpu_fault", "error_type", "lost"), []float64{0})
	})
	n.interrupt()
}
