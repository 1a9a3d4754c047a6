// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
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

// faultyScenario adds trouble to workloadScenario, and traffic.
const faultyScenario = `
[gpu *]
nvlink.tx = 1G
nvlink.rx = 2G
[gpu 3]
remapped.failure = 1
remapped.corrected = 1
ecc.volatile.corrected = 5
ecc.volatile.corrected.dram = 5
[gpu 6]
links.down = 3,4
nvlink.replay = 4
[gpu 7]
reasons = 0x40
pcie.width = 8
pcie.replay = 9
violation.hw_thermal = counter(0, 0.5)
[event x]
gpu = 3
xid = 63
`

// noRules has a Prometheus evaluate none.
func noRules([]byte) []byte { return []byte("groups: []\n") }

// shownAndSent has a collector send its data and its own metrics to a Prometheus that takes OTLP, if there is one, and show its own metrics still.
// exporters are further settings.
func shownAndSent(address, exporters string) string {
	if address == "" {
		return "exporters: {" + exporters + "}\n"
	}
	url := "http://" + address + "/api/v1/otlp"
	return fmt.Sprintf(`
exporters: {otlp_http/prometheus: {endpoint: %q}, %s}
service:
  pipelines: {metrics: {exporters: [otlp_grpc, otlp_http/prometheus]}}
  telemetry:
    metrics:
      readers:
        - pull: {exporter: {prometheus: {host: 127.0.0.1, port: TELEMETRY}}}
        - periodic: {interval: 1000, exporter: {otlp: {protocol: http/protobuf, endpoint: %q}}}
`, url, exporters, url+"/v1/metrics")
}

// Every query of every panel of the dashboards runs on a real Prometheus, which scrapes an agent on a node of NVIDIA GPUs with MIG instances
// and pods, one on a node of AMD GPUs in partitions, the reader of a cluster's API, and the own metrics of two of them; and on one to which they
// send all that over OTLP.
func TestDashboards(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	sentTo := shippedOTLP(t, noRules)
	server := newAPIServer(t, workloadObjects())
	env := []string{"KUBECONFIG=" + server.kubeconfig}
	n := prepareWorkloads(t)
	n.file("scenario", workloadScenario+faultyScenario)
	n.start(shipped{
		configs: []string{"agent-kubernetes.yaml", filepath.Join("overlays", "owners.yaml")},
		more:    "receivers: {gpu: {scrapers: {nvml: {pcie_sampling: true}}, attribution: {owners: {auth_type: kubeConfig}}}}\n" + shownAndSent(sentTo, ""),
		env:     env,
	})
	sink := harness.NewSink()
	t.Cleanup(func() { assert.NoError(t, sink.Close()) })
	cluster := shipped{configs: []string{"cluster.yaml"}, scrapers: "scrapers: {kubernetes_cluster: {auth_type: kubeConfig}}", more: shownAndSent(sentTo, ""), env: env}
	clusterPage, _ := cluster.start(t, t.TempDir(), sink)
	host := filepath.Join(t.TempDir(), "host")
	_, err := amdgpusim.Write(host, amdgpusim.MI300XNode(8, true))
	require.NoError(t, err)
	for file, text := range map[string]string{"aer_dev_correctable": "TOTAL_ERR_COR 4\n", "aer_dev_fatal": "TOTAL_ERR_FATAL 1\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(host, "sys", "bus", "pci", "devices", "0000:05:00.0", file), []byte(text), 0o600))
	}
	amd := shipped{
		configs: []string{"amd.yaml"}, scrapers: fmt.Sprintf("scrapers: {amdgpu: {root_path: %q}}", host), more: "receivers: {gpu: {collection_interval: 2s, timeout: 2s}}\n" + sending(sentTo, false), // 64 partitions take longer on a busy machine
		env: []string{"K8S_NODE_NAME=node-b", "K8S_CLUSTER_NAME=lab"},
	}
	amdPage, _ := amd.start(t, t.TempDir(), sink)
	n.next("attributed workloads", func(points harness.Points) bool {
		return attributed(points) && len(withResource(points, "container.gpu.allocated", "k8s.workload.name")) >= 4
	})
	// The API server of a third cluster is away, and so is the backend.
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	missing := shipped{
		configs:  []string{"cluster.yaml"},
		scrapers: fmt.Sprintf("scrapers: {kubernetes_cluster: {auth_type: '', endpoint: 'https://127.0.0.1:1', token_file: %q}}", token),
		more:     shownAndSent(sentTo, "otlp_grpc: {endpoint: '"+freeAddress(t)+"', retry_on_failure: {enabled: false}}"),
		env:      []string{"K8S_CLUSTER_NAME=gone"},
	}
	gonePage, _ := missing.start(t, t.TempDir(), sink)

	ways := map[string]string{"scrape": scrapingPrometheus(t, "", n.page, clusterPage, amdPage, gonePage, n.telemetry, cluster.telemetry, missing.telemetry)}
	if sentTo != "" {
		ways["OTLP"] = sentTo
	}
	for way, address := range ways {
		eventually(t, patience, "the ranges are full by "+way, func() bool {
			return ask(t, address, `count(count_over_time({__name__=~"otelcol_gpu_read_success(_ratio)?"}[1m]) >= 22)`) == 3 &&
				ask(t, address, `min(count_over_time(hw_power_watts[1m]))`) >= 11
		})
		becomes(t, address, `count(hw_gpu_xids_total)`, 1)
		t.Run(way, func(t *testing.T) {
			testPanels(t, address)
			testVariables(t, address)
		})
	}

	// NVML is opened for each read alone then, which would end the counters of the simulated library.
	n.set("[gpu 3]\nrecovery_action = 4\nfabric.health = 0x1a9")
	for _, panel := range everyQuery(t) {
		if !slices.Contains(whenDrained, panel.place) {
			continue
		}
		for way, address := range ways {
			someNumbers(t, panel.place+" by "+way, func() map[string]float64 { return answered(t, address, selected(panel.expression, nil)) })
		}
	}
}

// testPanels compares the answers of all queries with the calculations, or requires that they have data.
func testPanels(t *testing.T, address string) {
	t.Helper()
	known := map[string]bool{}
	for _, panel := range everyQuery(t) {
		place := panel.place
		known[place] = true
		if strings.HasPrefix(place, machineBoard+":") || strings.HasPrefix(place, slurmBoard+":") || strings.HasPrefix(place, billBoard+":") { // others ask these
			continue
		}
		for choice, chosen := range choices {
			answer := func() map[string]float64 { return answered(t, address, selected(panel.expression, chosen)) }
			name := strings.TrimSuffix(place+" ("+choice+")", " (all)")
			if want, calculated := calculations[name]; calculated {
				known[name] = true
				sameNumbers(t, name, want, answer)
			} else if choice == "all" {
				if reason := emptyPanels[place]; reason == "" {
					someNumbers(t, place+": "+panel.expression, answer)
				} else {
					sameNumbers(t, place+": "+reason, byLabels(nil), answer)
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
}

// testVariables requires values of the variables of the dashboards.
func testVariables(t *testing.T, address string) {
	t.Helper()
	for _, d := range dashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type != "query" || d.UID == machineBoard || d.UID == slurmBoard || d.UID == billBoard {
				continue
			}
			query := selected(v.Query, nil)
			values := func() (got []string) {
				if inner, ok := strings.CutPrefix(query, "query_result("); ok { // as Grafana prints a result
					value := regexp.MustCompile(strings.Trim(v.Regex, "/"))
					for labels := range answered(t, address, strings.TrimSuffix(inner, ")")) {
						got = append(got, value.FindStringSubmatch("{" + labels + "} 1 1700000000000")[1])
					}
					return got
				}
				parts := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(query)
				require.NotNil(t, parts, query)
				for labels := range answered(t, address, "group by ("+parts[2]+") ("+parts[1]+")") {
					got = append(got, regexp.MustCompile(`"(.*)"`).FindString(labels))
				}
				return got
			}
			eventually(t, patience, d.UID+": "+v.Name, func() bool {
				got := values()
				return len(got) > 0 && (v.Name != "node" || slices.Equal(slices.Sorted(slices.Values(got)), []string{"node-a", "node-b"}))
			})
		}
	}
}

// An empty panel says what it needs from an agent or another collector.
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
		count := 0
		for _, d := range dashboards(t) {
			for _, p := range d.Panels {
				for _, target := range p.Targets {
					if name.MatchString(target.Expr) {
						count++
						assert.Contains(t, p.FieldConfig.Defaults.NoValue, words, "%s: %s", d.UID, p.Title)
					}
				}
			}
		}
		assert.NotZero(t, count, metrics)
	}
	for _, d := range dashboards(t) {
		heading := ""
		for _, p := range d.Panels {
			if p.Type == "row" {
				heading = p.Title
				continue
			}
			assert.NotEmpty(t, p.FieldConfig.Defaults.NoValue, "%s: %s", d.UID, p.Title)
			for panel, row := range map[string]string{"needs an agent": "an agent", "with kubernetes_cluster": "kubernetes_cluster", "own metrics": "own metrics"} {
				if strings.Contains(p.FieldConfig.Defaults.NoValue, panel) {
					assert.Contains(t, heading, row, "%s: the row of %s", d.UID, p.Title)
				}
			}
		}
	}
}
