// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// dashboard is what a test needs to know of a dashboard of deploy/grafana.
type dashboard struct {
	UID        string `json:"uid"`
	Panels     []dashboardPanel
	Templating struct {
		List []struct{ Type, Name, Query, Regex string }
	}
}

type dashboardPanel struct {
	Title, Type string
	Targets     []struct {
		RefID string `json:"refId"`
		Expr  string
	}
	FieldConfig struct {
		Defaults struct{ NoValue string }
	}
}

// dashboards reads deploy/grafana.
func dashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root(t), "deploy", "grafana", "*.json"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d))
		assert.Equal(t, d.UID+".json", filepath.Base(path))
		all = append(all, d)
	}
	require.Len(t, all, 6)
	return all
}

// selected replaces the variables of a dashboard: those that are not chosen have all values. Ranges are those of a test.
func selected(expression string, chosen map[string]string) string {
	return regexp.MustCompile(`\$([a-z_]+)`).ReplaceAllStringFunc(expression, func(name string) string {
		name = name[1:]
		switch {
		case chosen[name] != "":
			return chosen[name]
		case name == "__rate_interval", name == "__range":
			return "20s"
		default:
			return ".*"
		}
	})
}

// faultyScenario adds trouble to workloadScenario, and traffic.
const faultyScenario = `
[gpu *]
nvlink.tx = 1G
nvlink.rx = 2G
[gpu 3]
remapped.failure = 1
ecc.volatile.corrected = 5
[gpu 7]
reasons = 0x40
pcie.width = 8
[event x]
gpu = 3
xid = 63
`

// Every query of every panel of the dashboards runs on a real Prometheus, which scrapes an agent on a node of NVIDIA GPUs with MIG instances
// and pods, one on a node of AMD GPUs in partitions, the reader of a cluster's API, and the own metrics of two of them.
func TestDashboards(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	server := newAPIServer(t, workloadObjects())
	env := []string{"KUBECONFIG=" + server.kubeconfig}
	n := prepareWorkloads(t)
	n.file("scenario", workloadScenario+faultyScenario)
	n.start(shipped{
		configs: []string{"agent-kubernetes.yaml", filepath.Join("parts", "owners.yaml")},
		more:    "receivers: {gpu: {scrapers: {nvml: {pcie_sampling: true}}, attribution: {owners: {auth_type: kubeConfig}}}}",
		env:     env,
	})
	sink := harness.NewSink()
	t.Cleanup(func() { assert.NoError(t, sink.Close()) })
	cluster := shipped{configs: []string{"cluster.yaml"}, scrapers: "scrapers: {kubernetes_cluster: {auth_type: kubeConfig}}", env: env}
	clusterPage, _ := cluster.start(t, t.TempDir(), sink)
	host := filepath.Join(t.TempDir(), "host")
	_, err := amdgpusim.Write(host, amdgpusim.MI300XNode(8, true))
	require.NoError(t, err)
	amd := shipped{
		configs: []string{"amd.yaml"}, scrapers: fmt.Sprintf("scrapers: {amdgpu: {root_path: %q}}", host),
		env: []string{"K8S_NODE_NAME=node-b", "K8S_CLUSTER_NAME=lab"},
	}
	amdPage, _ := amd.start(t, t.TempDir(), sink)
	n.next("attributed workloads", func(points harness.Points) bool {
		return attributed(points) && len(withResource(points, "container.gpu.allocated", "k8s.workload.name")) >= 4
	})
	// The API server of a third cluster is away, and so is the back end.
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	gone := shipped{
		configs:  []string{"cluster.yaml"},
		scrapers: fmt.Sprintf("scrapers: {kubernetes_cluster: {auth_type: '', endpoint: 'https://127.0.0.1:1', token_file: %q}}", token),
		more:     "exporters: {otlp_grpc: {endpoint: '" + freeAddress(t) + "', retry_on_failure: {enabled: false}}}",
		env:      []string{"K8S_CLUSTER_NAME=gone"},
	}
	gonePage, _ := gone.start(t, t.TempDir(), sink)

	address := scrapingPrometheus(t, "", n.page, clusterPage, amdPage, gonePage, n.telemetry, cluster.telemetry, gone.telemetry)
	eventually(t, 3*patience, "22 scrapes", func() bool { return ask(t, address, `min(count_over_time(up[1m]))`) >= 22 })
	eventually(t, patience, "the XID", func() bool { return ask(t, address, `count(hw_gpu_xids_total)`) == 1 })

	known, expressions := map[string]bool{}, map[string]string{}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				where := d.UID + ": " + p.Title
				if len(p.Targets) > 1 {
					where += ": " + target.RefID
				}
				assert.False(t, known[where], "two panels: %s", where)
				known[where] = true
				expressions[where] = target.Expr
				for choice, chosen := range choices {
					got := answered(t, address, selected(target.Expr, chosen))
					name := strings.TrimSuffix(where+" ("+choice+")", " (all)")
					if want, calculated := calculations[name]; calculated {
						known[name] = true
						sameNumbers(t, name, want, got)
					} else if choice == "all" {
						if reason := emptyPanels[where]; reason == "" {
							assert.NotEmpty(t, got, "%s: %s", where, target.Expr)
						} else {
							assert.Empty(t, got, "%s should be empty: %s", where, reason)
						}
					}
				}
			}
		}
	}
	for name := range calculations {
		assert.True(t, known[name], "no panel: %s", name)
	}
	for name := range emptyPanels {
		assert.True(t, known[name], "no panel: %s", name)
	}
	testVariables(t, address)

	// NVML is opened for each read alone then, which would end the counters of the simulated library.
	n.set("[gpu 3]\nrecovery_action = 4")
	for _, where := range whenDrained {
		eventually(t, patience, where, func() bool { return len(answered(t, address, selected(expressions[where], nil))) > 0 })
	}
}

// testVariables requires values of the variables of the dashboards.
func testVariables(t *testing.T, address string) {
	t.Helper()
	for _, d := range dashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type != "query" {
				continue
			}
			query := selected(v.Query, nil)
			var got []string
			if inner, ok := strings.CutPrefix(query, "query_result("); ok { // as Grafana prints a result
				value := regexp.MustCompile(strings.Trim(v.Regex, "/"))
				for labels := range answered(t, address, strings.TrimSuffix(inner, ")")) {
					got = append(got, value.FindStringSubmatch("{" + labels + "} 1 1700000000000")[1])
				}
			} else {
				parts := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(query)
				require.NotNil(t, parts, query)
				for labels := range answered(t, address, "group by ("+parts[2]+") ("+parts[1]+")") {
					got = append(got, regexp.MustCompile(`"(.*)"`).FindString(labels))
				}
			}
			assert.NotEmpty(t, got, "%s: %s", d.UID, v.Name)
			if v.Name == "node" {
				assert.ElementsMatch(t, []string{"node-a", "node-b"}, got)
			}
		}
	}
}

// answered asks Prometheus for a vector, by its labels: name="value", ….
func answered(t *testing.T, address, query string) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, s := range vector(t, address, query) {
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(s.labels)) {
			labels = append(labels, fmt.Sprintf("%s=%q", name, s.labels[name]))
		}
		found[strings.Join(labels, ", ")] = s.value
	}
	return found
}

func sameNumbers(t *testing.T, what string, want calculation, got map[string]float64) {
	t.Helper()
	assert.Len(t, got, len(want.values), "%s: %v", what, got)
	for labels, value := range want.values {
		if assert.Contains(t, got, labels, "%s: %v", what, got) {
			assert.InDelta(t, value, got[labels], want.within*value+1e-9, "%s: %s", what, labels)
		}
	}
}

// What a panel needs from an agent or another collector is said where it is empty.
func TestDashboardsSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	for metrics, words := range map[string]string{
		`\b(container|hw)_gpu_(allocated|idle_time_seconds_total|energy_joules_total)\{`: "needs an agent",
		`\bcontainer_gpu_\w+\{`:                    "needs an agent",
		`\bk8s_(cluster|node|container)_gpu_\w+\{`: "needs a collector with kubernetes_cluster",
		`otelcol_`:                  "needs the collectors' own metrics",
		`\bhw_gpu_io_bytes_total\{`: "pcie_sampling",
	} {
		name := regexp.MustCompile(metrics)
		seen := 0
		for _, d := range dashboards(t) {
			for _, p := range d.Panels {
				for _, target := range p.Targets {
					if name.MatchString(target.Expr) {
						seen++
						assert.Contains(t, p.FieldConfig.Defaults.NoValue, words, "%s: %s", d.UID, p.Title)
					}
				}
			}
		}
		assert.NotZero(t, seen, metrics)
	}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			if p.Type != "row" {
				assert.NotEmpty(t, p.FieldConfig.Defaults.NoValue, "%s: %s", d.UID, p.Title)
			}
		}
	}
}
