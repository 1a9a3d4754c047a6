// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
	"github.com/otelgpu/gpureceiver/internal/metadatatest"
)

// own returns the points of one of the receiver's own metrics, by their attributes.
func own(t *testing.T, tel *componenttest.Telemetry, name string) map[string]float64 {
	t.Helper()
	points := map[string]float64{}
	text := func(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }
	m, err := tel.GetMetric(name)
	if err != nil {
		return points // none yet
	}
	switch data := m.Data.(type) {
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			points[text(p.Attributes)] = float64(p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			points[text(p.Attributes)] = p.Value
		}
	}
	return points
}

func TestOwnMetricsOfASource(t *testing.T) {
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	proceed := make(chan struct{})
	source := &fakeSource{next: func(ctx context.Context, read int) (*gpu.Node, error) {
		switch read {
		case 1:
			return nodeOf(healthy("GPU-1")), nil
		case 2:
			return nil, errors.New("the driver says no")
		default: // it hangs
			select {
			case proceed <- struct{}{}:
			case <-ctx.Done():
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.set.TelemetrySettings = tel.NewTelemetrySettings()
	m := r.newMetrics()
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_success"))
	require.NoError(t, m.Start(t.Context(), r.host))
	<-proceed
	assert.Equal(t, map[string]float64{"receiver=gpu,scraper=nvml": 0}, own(t, tel, "otelcol_gpu_read_success"), "also while a read hangs")
	assert.Contains(t, own(t, tel, "otelcol_gpu_read_duration"), "receiver=gpu,scraper=nvml")
	first := own(t, tel, "otelcol_gpu_read_age")["receiver=gpu,scraper=nvml"]
	assert.Positive(t, first, "of the read that was good")
	assert.Greater(t, own(t, tel, "otelcol_gpu_read_age")["receiver=gpu,scraper=nvml"], first)
	require.NoError(t, m.Shutdown(t.Context()))
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_success"), "nothing is left of it")
}

// statsOf is a fleet that provides only statistics.
type statsOf []kubeexec.ClusterStats

func (s statsOf) Start()                         {}
func (s statsOf) Close() error                   { return nil }
func (s statsOf) Stats() []kubeexec.ClusterStats { return s }

func TestOwnMetricsOfAFleet(t *testing.T) {
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	r := newRigOf(t, openSource)
	r.set.TelemetrySettings = tel.NewTelemetrySettings()
	r.cfg = fleetConfig(t, prod())
	m := r.newMetrics()
	s, err := r.instances()[r.cfg].start(t.Context(), r.host)
	require.NoError(t, err)
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_success"), "nothing was read yet")

	hourAgo := time.Now().Add(-time.Hour)
	s.fleet.reader = statsOf{
		{Name: "prod", Throttled: 2, Skipped: 7, Election: &shard.Status{Held: []int{0, 3}, Replicas: 3}, Nodes: []kubeexec.NodeStats{
			{Node: "good", Vendor: gpu.NVIDIA, Read: true, Success: true, Duration: 1500 * time.Millisecond, LastGood: time.Now()},
			{Node: "failing", Vendor: gpu.AMD, Read: true, Duration: 5 * time.Second},
			{Node: "new", Vendor: gpu.NVIDIA},
			{Node: "gone", Vendor: gpu.NVIDIA, Read: true, Success: true, Duration: time.Second, LastGood: hourAgo, Unreadable: "no pod"},
		}},
		{Name: "other"},
		{Name: "dead", Known: true, Failure: &gpu.Failure{Reason: gpu.FailureAPIUnreachable, Err: errors.New("refused")}},
		{Name: "well", Known: true, LastGood: time.Now()},
	}
	key := func(vendor, node string) string {
		return "hw.vendor=" + vendor + ",k8s.cluster.name=prod,k8s.node.name=" + node + ",receiver=gpu,scraper=kubernetes_exec"
	}
	cluster := func(name string) string { return "k8s.cluster.name=" + name + ",receiver=gpu,scraper=kubernetes_exec" }
	assert.Equal(t, map[string]float64{
		key("NVIDIA", "good"): 1, key("AMD", "failing"): 0, key("NVIDIA", "gone"): 0, cluster("dead"): 0, cluster("well"): 1,
	}, own(t, tel, "otelcol_gpu_read_success"))
	assert.Equal(t, map[string]float64{key("NVIDIA", "good"): 1.5, key("AMD", "failing"): 5}, own(t, tel, "otelcol_gpu_read_duration"))
	ages := own(t, tel, "otelcol_gpu_read_age")
	assert.Len(t, ages, 3)
	assert.Contains(t, ages, cluster("well"))
	assert.InDelta(t, 3600, ages[key("NVIDIA", "gone")], 60)
	assert.InDelta(t, 0, ages[key("NVIDIA", "good")], 60)

	attributes := func(name string) attribute.Set {
		return attribute.NewSet(attribute.String("receiver", "gpu"), attribute.String("k8s.cluster.name", name))
	}
	metadatatest.AssertEqualGpuExecsSkipped(t, tel, []metricdata.DataPoint[int64]{
		{Attributes: attributes("prod"), Value: 7}, {Attributes: attributes("other"), Value: 0}, {Attributes: attributes("dead"), Value: 0}, {Attributes: attributes("well"), Value: 0},
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualGpuExecsThrottled(t, tel, []metricdata.DataPoint[int64]{
		{Attributes: attributes("prod"), Value: 2}, {Attributes: attributes("other"), Value: 0}, {Attributes: attributes("dead"), Value: 0}, {Attributes: attributes("well"), Value: 0},
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualGpuShardsHeld(t, tel, []metricdata.DataPoint[int64]{{Attributes: attributes("prod"), Value: 2}}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualGpuShardReplicas(t, tel, []metricdata.DataPoint[int64]{{Attributes: attributes("prod"), Value: 3}}, metricdatatest.IgnoreTimestamp())
	require.NoError(t, m.Shutdown(t.Context()))
}
