// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// expectations are the answers to the queries of docs/operate/queries.md, by their headings: values by the label that distinguishes the
// series. The rates are the rates of workloadScenario: training is busy 90 % of the time, the servers 40 and 20 %.
var expectations = map[string]struct {
	label  string
	values map[string]float64
	within float64 // as a share; 0: exactly
}{
	"Summary of each cluster": {"__name__", map[string]float64{
		"cluster:hw_gpu_nodes:count":              1,
		"cluster:hw_gpu_count:sum visible":        8,
		"cluster:hw_gpu_count:sum missing":        0,
		"cluster:hw_gpu_count:sum unmanaged":      0,
		"cluster:hw_status:sum ok":                8,
		"cluster:hw_status:sum degraded":          0,
		"cluster:hw_status:sum failed":            0,
		"cluster:hw_status:sum predicted_failure": 0,
		"cluster:hw_gpu_allocated:sum":            4,
		"cluster:hw_gpu_memory_limit_bytes:sum":   8 * 81559 << 20,
		"cluster:hw_gpu_memory_usage_bytes:sum":   80 << 30,
		"cluster:hw_gpu_memory_usage:percent":     100 * (80 << 30) / (8.0 * (81559 << 20)),
		"cluster:hw_gpu_utilization_ratio:avg":    2.2 / 7,
		"cluster:hw_temperature_celsius:avg":      (70 + 7*40) / 8.0,
		"cluster:hw_power_watts:sum":              600 + 70 + 300 + 70 + 400 + 200 + 150 + 70,
	}, 1e-9},
	"Memory in use":          {"k8s_cluster_name", map[string]float64{"prod": 80 << 30}, 0},
	"Free memory":            {"k8s_cluster_name", map[string]float64{"prod": 8*(81559<<20) - 80<<30 - 8*652<<20}, 0},
	"Mean utilization":       {"k8s_cluster_name", map[string]float64{"prod": 2.2 / 7}, 1e-9},
	"XIDs of the last day":   {"hw_gpu_xid", nil, 0},
	"Used but not allocated": {"k8s_pod_name", map[string]float64{"stowaway-0": 0, "": 0}, 0}, // and miner.service
	"Allocated but unused":   {"k8s_pod_name", map[string]float64{"notebook-0": 1}, 0},
	"Allocated and idle":     {"k8s_pod_name", map[string]float64{"notebook-0": 1}, 0.08},
	"Used by no container":   {"systemd_unit_name", map[string]float64{"miner.service": 2 << 30}, 0},
	"What containers leave of a device": {"hw_id", map[string]float64{
		gpu(0): 0, gpu(1): 0, gpu(2): 0, gpu(3): 0, gpu(4): 0, gpu(6): 0, gpu(7): 0,
		"MIG-00000000-0000-4000-8000-000000000050": 0, "MIG-00000000-0000-4000-8000-000000000051": 0,
	}, 0},
	"Unallocated GPUs": {"hw_name", map[string]float64{"nvidia2": 0, "nvidia3": 0, "nvidia6": 0, "nvidia7": 0}, 0},

	"Idle by namespace": {"k8s_namespace_name", map[string]float64{"ml": 0.1 + 1 + 0.6 + 0.8}, 0.08},
	"Idle by workload": {"k8s_workload_name", map[string]float64{
		"train": 0.1, "notebook": 1, "server": 0.6 + 0.8,
	}, 0.08},
	"Idle by team": {"k8s_pod_label_team", map[string]float64{"language": 0.1 + 0.6 + 0.8, "vision": 1}, 0.08},

	// In the 20 s that represent a day in the test.
	"Energy by namespace":                   {"k8s_namespace_name", map[string]float64{"ml": 20 * (600 + 70 + 150 + 400) / 3.6e6, "": 20 * 0.2 * 150 / 3.6e6}, 0.15},
	"Energy that no container accounts for": {"k8s_cluster_name", map[string]float64{"prod": 20 * (150 + 70 + 200 + 0.8*150 + 70) / 3.6e6}, 0.3},
	"Power by workload": {"k8s_namespace_name k8s_workload_name", map[string]float64{
		"ml train": 600, "ml notebook": 70, "ml server": 400, "ml": 150, "": 0.2 * 150, // the stowaway has no owner, miner.service no namespace
	}, 1e-9},

	"Free by resource name":              {"k8s_resource_name", map[string]float64{"nvidia.com/gpu": 4, "nvidia.com/mig-3g.40gb": 1}, 0},
	"Pods that wait for a GPU":           {"k8s_resource_name", map[string]float64{"nvidia.com/gpu": 1}, 0},
	"Requested but unused, by namespace": {"k8s_namespace_name", map[string]float64{"ml": 2 + 8}, 0}, // eight by the waiting pod
}

// whenLost are the answers once a GPU is lost.
var whenLost = map[string]string{"GPUs that have failed": "nvidia7", "Why they have failed": "nvidia7"}

// queries are the queries of docs/operate/queries.md, by their headings.
func queries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "queries.md"))
	require.NoError(t, err)
	got := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^###? `).Split(string(text), -1) {
		heading, rest, _ := strings.Cut(section, "\n")
		_, query, ok := strings.Cut(rest, "```promql\n")
		if !ok {
			continue
		}
		query, rest, _ = strings.Cut(query, "```")
		assert.NotContains(t, rest, "```promql", "%s: one query a heading", heading)
		assert.NotContains(t, got, heading)
		got[heading] = query
	}
	return got
}

// ranges are the ranges of queries and rules. The test replaces each by twenty seconds: with a read every half second, rates are then exact
// to 5 %.
var ranges = regexp.MustCompile(`\[(5m|1h|1d)\]`)

// Every query of the documentation gives the correct answer on a real Prometheus, which scrapes an agent and the reader of the cluster's
// API, both with the shipped configurations, and evaluates the shipped rules. The answers are the same if these send over OTLP.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	server := newAPIServer(t, workloadObjects())
	env := []string{"KUBECONFIG=" + server.kubeconfig}
	byOTLP := shippedOTLP(t, shortRanges)
	push := sending(byOTLP, true)
	n := prepareWorkloads(t)
	n.start(shipped{
		configs: []string{"agent-kubernetes.yaml", filepath.Join("overlays", "owners.yaml")},
		more:    "receivers: {gpu: {attribution: {owners: {auth_type: kubeConfig}}}}\n" + push,
		env:     env,
	})
	sink := harness.NewSink()
	t.Cleanup(func() { assert.NoError(t, sink.Close()) })
	cluster := shipped{configs: []string{"cluster.yaml"}, scrapers: "scrapers: {kubernetes_cluster: {auth_type: kubeConfig}}", more: push, env: env}
	clusterPage, _ := cluster.start(t, t.TempDir(), sink)
	n.next("attributed workloads", func(points harness.Points) bool {
		return attributed(points) && len(withResource(points, "container.gpu.allocated", "k8s.workload.name")) >= 4
	})

	address := scrapingPrometheus(t, "global: {evaluation_interval: 1s}\nrule_files: ["+shippedRules(t, shortRanges)+"/*.rules.yaml]", n.page, clusterPage)
	// So many that a range of twenty seconds is full.
	eventually(t, patience, "22 scrapes", func() bool { return ask(t, address, `min(count_over_time(up[1m]))`) >= 22 })
	addresses := []string{address}
	if byOTLP != "" {
		addresses = append(addresses, byOTLP)
	}

	documented := queries(t)
	for heading := range expectations {
		assert.Contains(t, documented, heading)
	}
	for heading, query := range documented {
		if _, ok := slurmExpectations[heading]; ok { // TestSlurm asks these
			continue
		}
		want, ok := expectations[heading]
		for way, address := range addresses {
			if whenLost[heading] != "" {
				eventually(t, patience, heading+": none", func() bool { return len(answers(t, address, query, "hw_name")) == 0 })
				continue
			}
			require.True(t, ok, "%s: what does it answer?", heading)
			sameNumbers(t, fmt.Sprintf("%s (%d)", heading, way), calculation{want.values, want.within}, func() map[string]float64 {
				return answers(t, address, ranges.ReplaceAllString(query, "[20s]"), want.label)
			})
		}
	}
	for _, address := range addresses {
		assertFirstSteps(t, address)
	}
	for _, address := range addresses { // the rule waits before it fires
		eventually(t, patience, "the stowaway's alert", func() bool {
			return ask(t, address, `count(ALERTS{alertname="GPUUsedWithoutAllocation"})`) == 1 &&
				ask(t, address, `count(ALERTS{alertname="GPUUsedWithoutAllocation", k8s_pod_name="stowaway-0", hw_id="`+gpu(2)+`"})`) == 1
		})
	}
	if byOTLP != "" { // the collectors' own metrics have job and instance of the others
		becomes(t, byOTLP, `count(otelcol_gpu_read_success_ratio)`, 2)
		becomes(t, byOTLP, `count(otelcol_gpu_read_success_ratio and on (job, instance) hw_gpu_count{job="gpureceiver-agent", instance="prod/node-a"})`, 1)
		becomes(t, byOTLP, `count(otelcol_gpu_read_age_seconds and on (job, instance) k8s_container_gpu_request{job="gpureceiver-cluster"})`, 1)
	}

	n.set("[fault fell-off-the-bus]\ngpu = 7\nkind = lost")
	for _, address := range addresses {
		for heading, name := range whenLost {
			eventually(t, patience, heading, func() bool {
				got := answers(t, address, documented[heading], "hw_name")
				return len(got) == 1 && got[name] == 1
			})
		}
		becomes(t, address, `count(ALERTS{alertname="GPUFailed", hw_name="nvidia7", k8s_node_name="node-a", k8s_cluster_name="prod", error_type="lost"})`, 1)
	}
	if byOTLP != "" {
		eventually(t, patience, "the same alerts", func() bool {
			return assert.ObjectsAreEqual(alerts(t, address), alerts(t, byOTLP))
		})
	}
}

// shortRanges shortens the ranges of rules.
func shortRanges(rules []byte) []byte { return ranges.ReplaceAll(rules, []byte("[20s]")) }

// alerts returns the alerts of Prometheus, without job and instance.
func alerts(t *testing.T, address string) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	for _, labels := range labelsAt(t, address, "ALERTS", time.Now()) {
		delete(labels, "job")
		delete(labels, "instance")
		delete(labels, "alertstate")
		got[fmt.Sprint(labels)] = true
	}
	return got
}

// answers asks Prometheus for a vector, by a label or several. Series of one name that differ in a state have that beside it.
func answers(t *testing.T, address, query, label string) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, s := range vector(t, address, query) {
		var values []string
		for name := range strings.FieldsSeq(label) {
			values = append(values, s.labels[name])
		}
		key := strings.TrimSpace(strings.Join(values, " "))
		if label == "__name__" {
			key = strings.TrimSpace(key + " " + s.labels["hw_gpu_presence"] + s.labels["hw_state"])
		}
		assert.NotContains(t, got, key, "%s: %v", query, s.labels)
		got[key] = s.value
	}
	return got
}

// answer is a series of a vector.
type answer struct {
	labels map[string]string
	value  float64
}

// vector asks Prometheus for a vector.
func vector(t *testing.T, address, query string) (all []answer) {
	t.Helper()
	code, body, err := harness.Get(t.Context(), "http://"+address+"/api/v1/query?query="+url.QueryEscape(query))
	require.NoError(t, err)
	require.Equal(t, 200, code, "%s: %s", query, body)
	var result struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Value  [2]any            `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &result))
	for _, series := range result.Data.Result {
		value, err := strconv.ParseFloat(series.Value[1].(string), 64)
		require.NoError(t, err)
		all = append(all, answer{series.Metric, value})
	}
	return all
}
