// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/exporter/kubernetes/internal/metadata"
	"github.com/otelgpu/gpureceiver/exporter/kubernetes/internal/metadatatest"
)

// testCounts returns counts that are not checked.
func testCounts(t *testing.T) *counts {
	t.Helper()
	c, err := newCounts(exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	return c
}

// measured returns counts and the telemetry from which they can be read.
func measured(t *testing.T) (*counts, *componenttest.Telemetry) {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.Background())) })
	c, err := newCounts(exporter.Settings{ID: exportertest.NewNopSettings(metadata.Type).ID, TelemetrySettings: telemetry.NewTelemetrySettings()})
	require.NoError(t, err)
	return c, telemetry
}

// points returns what a counter has, by one attribute.
func points(c *counts, key string, values map[string]int64) []metricdata.DataPoint[int64] {
	var all []metricdata.DataPoint[int64]
	for value, n := range values {
		all = append(all, metricdata.DataPoint[int64]{Value: n, Attributes: attribute.NewSet(c.id, attribute.String(key, value))})
	}
	return all
}

// What was posted, refused and dropped is counted, each Event once, and each count begins at 0.
func TestEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetNamespace() == "closed" {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", nil)
			}
			return false, nil, nil
		})
		c, telemetry := measured(t)
		p := newEventPoster(client.CoreV1(), zap.NewNop(), c)
		p.start()
		check := func(posted, refused, limited, unsent int64) {
			t.Helper()
			ignore := metricdatatest.IgnoreTimestamp()
			metadatatest.AssertEqualGpuKubernetesPosted(t, telemetry, points(c, "object", map[string]int64{objectEvent: posted}), ignore)
			metadatatest.AssertEqualGpuKubernetesRefused(t, telemetry, points(c, "object", map[string]int64{objectEvent: refused}), ignore)
			metadatatest.AssertEqualGpuKubernetesDropped(t, telemetry, points(c, "reason", map[string]int64{
				dropGaveUp: 0, dropQueueFull: 0, dropRateLimit: limited, dropShutdown: unsent,
			}), ignore)
		}
		check(0, 0, 0, 0)
		p.add(xid("XID 31", "1"))
		p.add(xid("XID 31", "1")) // the same record
		p.add(xid("XID 31", "2"))
		refused := xid("XID 31", "3")
		refused[0].Namespace, refused[0].InvolvedObject.Namespace = "closed", "closed"
		p.add(refused)
		require.Eventually(t, func() bool { return value(t, telemetry, "otelcol_gpu_kubernetes_refused") == 1 }, patience, time.Millisecond)
		check(2, 1, 0, 0)
		for i := range 100 {
			p.add(xid(fmt.Sprint("XID ", 100+i), fmt.Sprint("more ", i)))
		}
		// 25 Events of one object are posted immediately, and later ones as the rate limit allows.
		require.Eventually(t, func() bool {
			return value(t, telemetry, "otelcol_gpu_kubernetes_posted")+value(t, telemetry, "otelcol_gpu_kubernetes_dropped") == 102
		}, patience, time.Millisecond)
		assert.GreaterOrEqual(t, value(t, telemetry, "otelcol_gpu_kubernetes_dropped"), int64(70))

		client.PrependReactor("*", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "create", schema.GroupResource{}, "", "away", 0, true)
		})
		limited := value(t, telemetry, "otelcol_gpu_kubernetes_dropped")
		for i := range 3 {
			event := xid("XID 48", fmt.Sprint("last ", i))
			event[0].InvolvedObject.Name = fmt.Sprint("node-", i)
			p.add(event)
		}
		p.stop()
		assert.Equal(t, limited+3, value(t, telemetry, "otelcol_gpu_kubernetes_dropped"), "what waits at the shutdown")
	})
}

// value returns the sum of the points of a counter.
func value(t *testing.T, telemetry *componenttest.Telemetry, name string) (sum int64) {
	t.Helper()
	m, err := telemetry.GetMetric(name)
	require.NoError(t, err)
	for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
		sum += point.Value
	}
	return sum
}
