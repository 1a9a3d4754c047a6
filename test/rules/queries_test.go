// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules tests the Prometheus queries of the documentation with promtool. The rules have tests in files beside this one, which
// run.sh runs.
package rules

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample is one result of a query.
type sample struct {
	Labels string  `json:"labels"`
	Value  float64 `json:"value"`
}

const holder = `k8s_cluster_name="prod", k8s_namespace_name="ml", k8s_container_name="main", `

// The queries of docs/operate/queries.md on nodes on which much is absent, zero or elsewhere the same. A test in test/collector runs them
// on a complete node with a real collector.
func TestDocumentedQueriesWithAbsentData(t *testing.T) {
	for heading, c := range map[string]struct {
		series  map[string]string
		answers []sample
	}{
		// A GPU that waits for a reset works.
		"Why they have failed": {
			map[string]string{
				`hw_gpu_fault{hw_id="GPU-1", error_type="lost"}`:          "1+0x2000",
				`hw_status{hw_id="GPU-1", hw_state="failed"}`:             "1+0x2000",
				`hw_gpu_fault{hw_id="GPU-2", error_type="remap_pending"}`: "1+0x2000",
				`hw_status{hw_id="GPU-2", hw_state="failed"}`:             "0+0x2000",
			},
			[]sample{{`hw_gpu_fault{hw_id="GPU-1", error_type="lost"}`, 1}},
		},
		// The first XID of a code counts. An old one does not, and neither does one of a day ago.
		"XIDs of the last day": {
			map[string]string{
				`hw_gpu_xids_total{hw_id="GPU-1", hw_gpu_xid="79"}`: "_x1000 1+0x1000",
				`hw_gpu_xids_total{hw_id="GPU-2", hw_gpu_xid="31"}`: "_x1000 1+0x100 3+0x900",
				`hw_gpu_xids_total{hw_id="GPU-3", hw_gpu_xid="13"}`: "5+0x2000",
			},
			[]sample{{`{hw_id="GPU-1", hw_gpu_xid="79"}`, 1}, {`{hw_id="GPU-2", hw_gpu_xid="31"}`, 3}},
		},
		// An idle MIG instance uses some MiB, and an instance whose processes cannot be distinguished has no process metrics.
		"Allocated but unused": {
			map[string]string{
				`container_gpu_allocated{` + holder + `k8s_pod_name="idle", hw_id="MIG-1"}`:          "1+0x2000",
				`container_gpu_memory_usage_bytes{` + holder + `k8s_pod_name="idle", hw_id="MIG-1"}`: "23068672+0x2000",
				`container_gpu_allocated{` + holder + `k8s_pod_name="busy", hw_id="GPU-2"}`:          "1+0x2000",
				`container_gpu_memory_usage_bytes{` + holder + `k8s_pod_name="busy", hw_id="GPU-2"}`: "4e9+0x2000",
				`container_gpu_allocated{` + holder + `k8s_pod_name="unknown", hw_id="GPU-3"}`:       "1+0x2000",
			},
			[]sample{{`container_gpu_allocated{` + holder + `k8s_pod_name="idle", hw_id="MIG-1"}`, 1}},
		},
		// The query looks for the namespace that uses nothing of its request.
		"Requested but unused, by namespace": {
			map[string]string{
				`k8s_container_gpu_request{` + holder + `k8s_pod_name="busy"}`:                                                    "3+0x2000",
				`container_gpu_allocated{` + holder + `k8s_pod_name="busy", hw_id="GPU-1"}`:                                       "1+0x2000",
				`container_gpu_memory_usage_bytes{` + holder + `k8s_pod_name="busy", hw_id="GPU-1"}`:                              "4e9+0x2000",
				`container_gpu_allocated{` + holder + `k8s_pod_name="busy", hw_id="GPU-2"}`:                                       "1+0x2000",
				`container_gpu_memory_usage_bytes{` + holder + `k8s_pod_name="busy", hw_id="GPU-2"}`:                              "1e6+0x2000",
				`container_gpu_allocated{` + holder + `k8s_pod_name="busy", hw_id="GPU-3"}`:                                       "1+0x2000",
				`k8s_container_gpu_request{k8s_cluster_name="prod", k8s_namespace_name="lab", k8s_pod_name="notebook"}`:           "8+0x2000",
				`k8s_container_gpu_request{k8s_namespace_name="lab", k8s_pod_name="notebook", k8s_resource_name="other.com/gpu"}`: "1+0x2000",
			},
			[]sample{
				{`{k8s_cluster_name="prod", k8s_namespace_name="ml"}`, 1},
				{`{k8s_cluster_name="prod", k8s_namespace_name="lab"}`, 8},
				{`{k8s_namespace_name="lab"}`, 1},
			},
		},
		// No GPU is allocated in the cluster lab.
		"Energy that no container accounts for": {
			map[string]string{
				`hw_energy_joules_total{k8s_cluster_name="prod", hw_id="GPU-1"}`:                   "0+60000x2000",
				`hw_energy_joules_total{k8s_cluster_name="lab", hw_id="GPU-2"}`:                    "0+60000x2000",
				`hw_energy_joules_total{k8s_cluster_name="lab", hw_id="MIG-1", hw_parent="GPU-2"}`: "0+60000x2000",
				`container_gpu_energy_joules_total{k8s_cluster_name="prod", hw_id="GPU-1"}`:        "0+45000x2000",
			},
			[]sample{{`{k8s_cluster_name="prod"}`, 6}, {`{k8s_cluster_name="lab"}`, 24}},
		},
		// Two clusters have a workload of the same name.
		"Idle by workload": {
			map[string]string{
				`container_gpu_idle_time_seconds_total{k8s_cluster_name="a", k8s_namespace_name="ml", k8s_workload_name="train", hw_id="GPU-1"}`: "0+60x2000",
				`container_gpu_idle_time_seconds_total{k8s_cluster_name="b", k8s_namespace_name="ml", k8s_workload_name="train", hw_id="GPU-2"}`: "0+30x2000",
			},
			[]sample{
				{`{k8s_cluster_name="a", k8s_namespace_name="ml", k8s_workload_name="train"}`, 1},
				{`{k8s_cluster_name="b", k8s_namespace_name="ml", k8s_workload_name="train"}`, 0.5},
			},
		},
		"Power by workload": {
			map[string]string{
				`container_gpu_power_watts{k8s_cluster_name="a", k8s_namespace_name="ml", k8s_workload_name="train", hw_id="GPU-1"}`: "700+0x2000",
				`container_gpu_power_watts{k8s_cluster_name="b", k8s_namespace_name="ml", k8s_workload_name="train", hw_id="GPU-2"}`: "300+0x2000",
			},
			[]sample{
				{`{k8s_cluster_name="a", k8s_namespace_name="ml", k8s_workload_name="train"}`, 700},
				{`{k8s_cluster_name="b", k8s_namespace_name="ml", k8s_workload_name="train"}`, 300},
			},
		},
	} {
		t.Run(heading, func(t *testing.T) { answers(t, heading, c.series, c.answers) })
	}
}

// answers requires the results of a documented query after a day.
func answers(t *testing.T, heading string, series map[string]string, want []sample) {
	t.Helper()
	promtool := promtool(t)
	type input struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	var inputs []input
	for name, values := range series {
		inputs = append(inputs, input{name, values})
	}
	testRules(t, promtool, map[string]any{
		"evaluation_interval": "1m",
		"tests": []any{map[string]any{
			"interval": "1m", "input_series": inputs,
			"promql_expr_test": []any{map[string]any{"expr": documented(t, heading), "eval_time": "1d", "exp_samples": want}},
		}},
	})
}

// promtool returns the path of the program.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not in PATH; on Debian: apt-get install --no-install-recommends prometheus")
	}
	return path
}

// testRules runs a file of tests of rules.
func testRules(t *testing.T, promtool string, tests map[string]any) {
	t.Helper()
	content, err := json.Marshal(tests)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "test.yaml") // JSON is YAML
	require.NoError(t, os.WriteFile(path, content, 0o600))
	output, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput()
	require.NoError(t, err, string(output))
}

// documented returns the query below a heading of docs/operate/queries.md.
func documented(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "queries.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "\n### "+heading+"\n")
	require.True(t, ok, heading)
	_, query, _ := strings.Cut(section, "```promql\n")
	query, _, _ = strings.Cut(query, "```")
	return query
}
