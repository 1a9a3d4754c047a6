// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// A series with every attribute of hw.gpu.info or hw.gpu.board.info has fewer than 25 labels in Prometheus, including the labels that
// Prometheus adds when it scrapes the chart's PodMonitor. Mimir and Cortex refuse a series with more than 30, and users add labels of their
// own, such as node labels.
func TestLabelsOfInfo(t *testing.T) {
	t.Parallel()
	otlp, page := freeAddress(t), freeAddress(t)
	process, err := harness.Collector(harness.Options{Binary: binary(t), Dir: t.TempDir()}, `
receivers: {otlp: {protocols: {http: {endpoint: "`+otlp+`"}}}}
exporters: {prometheus: {endpoint: "`+page+`", without_scope_info: true, resource_constant_labels: {included: ["*"]}}}
service: {telemetry: {metrics: {level: none}}, pipelines: {metrics: {receivers: [otlp], exporters: [prometheus]}}}
`)
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	eventually(t, patience, "the collector serves", func() bool {
		_, _, err := harness.Get(t.Context(), "http://"+page+"/metrics")
		return err == nil
	})
	node, err := golden.ReadMetrics(filepath.Join(root(t), "internal", "record", "testdata", "full_node.yaml"))
	require.NoError(t, err)
	send(t, "http://"+otlp+"/v1/metrics", node)

	labels := map[string]map[string]bool{"hw_gpu_info": {}, "hw_gpu_board_info": {}} // of all series: no device has everything
	for _, s := range readPage(t, "http://"+page+"/metrics") {
		if all := labels[s.Name]; all != nil {
			for label := range s.Labels {
				if !strings.HasPrefix(label, "k8s_node_label_") { // configured by attribution::node_labels
					all[label] = true
				}
			}
		}
	}
	added := []string{"__name__", "job", "instance", "namespace", "pod", "container", "endpoint"}
	for name, all := range labels {
		assert.NotEmpty(t, all, name)
		assert.Less(t, len(all)+len(added), 25, "%s: %v", name, slices.Sorted(maps.Keys(all)))
	}
}
