// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

func TestResources(t *testing.T) {
	process := map[string]any{"host.name": "a", "process.pid": int64(1), "process.executable.name": "python3", "process.owner": "eve"}
	for name, tt := range map[string]struct {
		now  map[string]any
		want []string
	}{
		"same":     {nil, nil},
		"more":     {map[string]any{"container.id": "c"}, nil},
		"exec":     {map[string]any{"process.executable.name": "sh", "process.owner": "root"}, nil},
		"renamed":  {map[string]any{"process.owner": "root"}, []string{"{host.name=a,process.pid=1}: process.owner of the resource was eve and is root"}},
		"vanished": {map[string]any{"process.owner": nil}, []string{"{host.name=a,process.pid=1}: process.owner of the resource was eve and is <nil>"}},
		"another":  {map[string]any{"process.pid": int64(2), "process.owner": "root"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var r Resources
			assert.Empty(t, r.Add(withResources(t, process)))
			now := maps.Clone(process)
			maps.Copy(now, tt.now)
			assert.Equal(t, tt.want, r.Add(withResources(t, now)))
		})
	}
	container := map[string]any{"host.name": "a", "container.id": "c", "k8s.pod.name": "p"}
	var r Resources
	assert.Equal(t, []string{"{container.id=c} has the resources {container.id=c,host.name=a,k8s.pod.name=p} and {container.id=c,host.name=b}"},
		r.Add(withResources(t, container, map[string]any{"container.id": "c", "host.name": "b"}, process, map[string]any{"host.name": "a"})))
}

// withResources returns a message with a point for each resource. An attribute that is nil is left out.
func withResources(t *testing.T, resources ...map[string]any) pmetric.Metrics {
	t.Helper()
	metrics := pmetric.NewMetrics()
	for _, attributes := range resources {
		attributes = maps.Clone(attributes)
		maps.DeleteFunc(attributes, func(_ string, value any) bool { return value == nil })
		rm := metrics.ResourceMetrics().AppendEmpty()
		require.NoError(t, rm.Resource().Attributes().FromRaw(attributes))
		rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
	}
	return metrics
}
