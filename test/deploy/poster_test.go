// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	gpukubernetesexporter "github.com/otelgpu/gpureceiver/exporter/kubernetes"
)

// poster is the exporter gpu_kubernetes.
type poster struct {
	logs    exporter.Logs
	metrics exporter.Metrics
	stop    func()
}

// startPoster starts the exporter, until stop is called or the test ends.
func startPoster(t *testing.T, settings map[string]any) *poster {
	t.Helper()
	factory := gpukubernetesexporter.NewFactory()
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(settings).Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	logs, err := factory.CreateLogs(t.Context(), exportertest.NewNopSettings(factory.Type()), cfg)
	require.NoError(t, err)
	require.NoError(t, logs.Start(t.Context(), componenttest.NewNopHost()))
	metrics, err := factory.CreateMetrics(t.Context(), exportertest.NewNopSettings(factory.Type()), cfg)
	require.NoError(t, err)
	require.NoError(t, metrics.Start(t.Context(), componenttest.NewNopHost()))
	p := &poster{logs: logs, metrics: metrics}
	p.stop = func() {
		if p.logs != nil {
			ctx := context.WithoutCancel(t.Context()) // the context of a test that has ended is cancelled
			assert.NoError(t, logs.Shutdown(ctx))
			assert.NoError(t, metrics.Shutdown(ctx))
			p.logs = nil
		}
	}
	t.Cleanup(p.stop)
	return p
}

// record sends the record of an XID on a node.
func (p *poster) record(t *testing.T, node string, attributes map[string]any) {
	t.Helper()
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("k8s.node.name", node)
	record := resource.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	record.SetEventName("hw.gpu.xid")
	record.SetSeverityNumber(plog.SeverityNumberFatal)
	record.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	record.Body().SetStr("XID 79 on nvidia0 (NVIDIA H100 80GB HBM3): the GPU has fallen off the bus; restart the node")
	require.NoError(t, record.Attributes().FromRaw(attributes))
	require.NoError(t, p.logs.ConsumeLogs(t.Context(), logs))
}

// read sends the metrics of a GPU of a node in a state.
func (p *poster) read(t *testing.T, node, state string) {
	t.Helper()
	metrics := pmetric.NewMetrics()
	resource := metrics.ResourceMetrics().AppendEmpty()
	resource.Resource().Attributes().PutStr("k8s.node.name", node)
	metric := resource.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("hw.status")
	point := metric.SetEmptySum().DataPoints().AppendEmpty()
	point.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	point.SetIntValue(1)
	require.NoError(t, point.Attributes().FromRaw(map[string]any{"hw.id": "GPU-1", "hw.name": "nvidia0", "hw.state": state}))
	require.NoError(t, p.metrics.ConsumeMetrics(t.Context(), metrics))
}
