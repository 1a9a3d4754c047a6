// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/metadatatest"
)

// xidsOf returns one XID of each of the codes 1 to n. They are not summed.
func xidsOf(device string, n int) []gpu.Event {
	var events []gpu.Event
	for code := range n {
		events = append(events, gpu.Event{Type: gpu.EventXID, Time: time.Unix(100, int64(code)), DeviceID: device, XID: int64(code + 1)})
	}
	return events
}

// More events than a queue holds are counted. The count begins at 0, so that the first ones are an increase.
func TestDroppedEventsAreCounted(t *testing.T) {
	const most = 1024
	source := &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) {
		node := nodeOf(healthy("GPU-1"))
		if read == 2 {
			node.Events = xidsOf("GPU-1", most+10)
		}
		return node, nil
	}}
	r, telemetry := telemetryRig(t, source)
	r.cfg.ControllerConfig.CollectionInterval = time.Hour
	m, l := r.newMetrics(), r.newLogs()
	r.run(m, l)
	count := func(value int64) {
		t.Helper()
		metadatatest.AssertEqualGpuEventsDropped(t, telemetry, []metricdata.DataPoint[int64]{{Value: value, Attributes: ofNVML}}, metricdatatest.IgnoreTimestamp(),
			metricdatatest.IgnoreExemplars())
	}
	eventually(t, func() bool { return source.reads.Load() == 1 && len(r.metrics.AllMetrics()) == 1 }, "the first read")
	count(0)
	for _, s := range r.sources() {
		s.local[0].read(t.Context(), func(*gpu.Node) {})
	}
	eventually(t, func() bool { return r.logs.LogRecordCount() == most }, "what was not dropped is sent")
	count(10)
}

func TestDroppedEventsOfAClusterAreCounted(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(context.Background())) })
	cfg := fleetConfig(t, prod())
	f := stoppedFleet(t, cfg, zap.NewNop(), nil, &consumertest.LogsSink{})
	builder, err := metadata.NewTelemetryBuilder(telemetry.NewTelemetrySettings())
	require.NoError(t, err)
	f.telemetry = builder
	for _, name := range []string{"a", "b"} {
		node := &gpu.Node{
			Vendor: gpu.NVIDIA, Time: time.Unix(100, 0), Host: gpu.Host{NodeName: name, ClusterName: "prod"},
			Devices: []gpu.Device{{ID: "GPU-" + name, Vendor: gpu.NVIDIA}}, Events: xidsOf("GPU-"+name, 1024+5),
		}
		f.send(t.Context(), "prod", node, nil)
	}
	metadatatest.AssertEqualGpuEventsDropped(t, telemetry, []metricdata.DataPoint[int64]{{Value: 10, Attributes: attribute.NewSet(
		attribute.String("receiver", "gpu"), attribute.String("scraper", "kubernetes_exec"), attribute.String("k8s.cluster.name", "prod"),
	)}}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
}
