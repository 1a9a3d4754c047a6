// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"path/filepath"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/pmetrictest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// TestGoldenTools compares the metrics of a receiver that runs a tool, configured as by users, with every metric enabled. The times are the
// times of the test.
func TestGoldenTools(t *testing.T) {
	for name, scraper := range map[string]struct {
		key, tool, query string
		problems         []string
	}{
		"nvidia_smi_full": {key: "nvidia_smi", tool: "nvidia-smi", query: "full"},
		"nvidia_smi_mig":  {key: "nvidia_smi", tool: "nvidia-smi", query: "full"},
		"nvidia_smi_fast": {key: "nvidia_smi", tool: "nvidia-smi", query: "fast"},
		"rocm_smi":        {key: "rocm_smi", tool: "rocm-smi"},
		"amd_smi": {key: "amd_smi", tool: "amd-smi", problems: []string{
			"amd_smi: not permitted: WARNING: User is missing the following required groups: render. Please add user to these groups.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", "testdata", "tools", name, scraper.tool))
			require.NoError(t, err)
			settings := map[string]any{"path": path}
			if scraper.query != "" {
				settings["query"] = scraper.query
			}
			r := newRigOf(t, openSource)
			require.NoError(t, confmap.NewFromStringMap(map[string]any{
				"collection_interval": "1h",
				"initial_delay":       "0s",
				"scrapers":            map[string]any{scraper.key: settings},
				// No process in the recorded outputs is a process of this machine.
				"attribution": map[string]any{
					"node_name": "node-a", "cluster_name": "prod",
					"processes": map[string]any{"proc_path": t.TempDir(), "any_pid_namespace": true},
				},
			}).Unmarshal(r.cfg))
			r.cfg.MetricsBuilderConfig = everyMetric()
			r.run(r.newMetrics())
			eventually(t, func() bool { return r.metrics.DataPointCount() > 0 }, "metrics")
			compareUntimed(t, name+".yaml", r.metrics.AllMetrics()[0])
			var problems []string
			for _, entry := range r.log.FilterMessageSnippet("Read failed").All() {
				problems = append(problems, entry.ContextMap()["reason"].(string))
			}
			assert.Equal(t, scraper.problems, problems)
		})
	}
}

// compareUntimed compares metrics with a golden file at the root, except for the times. -update leaves a file alone if only the times differ.
func compareUntimed(t *testing.T, name string, got pmetric.Metrics) {
	t.Helper()
	path := filepath.Join("..", "testdata", "golden", name)
	compareFile := func() error {
		want, err := golden.ReadMetrics(path)
		if err != nil {
			return err
		}
		return pmetrictest.CompareMetrics(want, got, pmetrictest.IgnoreResourceMetricsOrder(), pmetrictest.IgnoreMetricsOrder(),
			pmetrictest.IgnoreMetricDataPointsOrder(), pmetrictest.IgnoreDatapointAttributesOrder(),
			pmetrictest.IgnoreStartTimestamp(), pmetrictest.IgnoreTimestamp())
	}
	err := compareFile()
	if err != nil && *update {
		require.NoError(t, golden.WriteMetricsToFile(path, got))
		err = compareFile()
	}
	require.NoError(t, err)
}
