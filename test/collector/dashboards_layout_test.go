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
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The panels of a dashboard lie within its 24 columns, and none is on another. Each number has a unit, each share its maximum, and a legend beside
// a graph leaves it half of the width.
func TestDashboardLayout(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards(t) {
		occupied, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range d.Panels {
			place := d.UID + ": " + p.Title
			assert.False(t, ids[p.ID], "%s: the number of another panel", place)
			ids[p.ID] = true
			assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, place)
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					assert.Empty(t, occupied[cell], "%s is on another panel at %v", place, cell)
					occupied[cell] = place
				}
			}
			defaults := p.FieldConfig.Defaults
			switch p.Type {
			case "row":
			case "table":
				units := 0
				for _, o := range p.FieldConfig.Overrides {
					for _, property := range o.Properties {
						if property.ID == "unit" {
							units++
						}
					}
				}
				assert.Equal(t, len(p.Targets), units, "%s: units of its columns", place)
			default:
				assert.NotEmpty(t, defaults.Unit, place)
				if p.Type == "timeseries" && strings.HasPrefix(defaults.Unit, "percent") {
					assert.NotZero(t, defaults.Max, "%s: the maximum", place)
				}
				if p.Options.Legend.Placement == "right" {
					assert.GreaterOrEqual(t, p.GridPos.W, 12, place)
				}
			}
		}
	}
}

// The largest fleet for which the dashboards are made has 1,000 nodes with eight GPUs each. A panel has at most maxSeries series there.
const maxSeries = 1000

// inFleet and onOneNode are how many things there are. If a query has several of these labels, the finest one counts: a GPU belongs to one node.
var (
	inFleet = map[string]int{
		"k8s_cluster_name": 10, "k8s_namespace_name": 100, "node": 1000, "k8s_node_name": 1000, "host_name": 1000, "instance": 1000,
		"k8s_workload_name": 2000, "k8s_workload_kind": 10, "hw_vendor": 2, "hw_model": 10, "job": 2,
		"slurm_job_account": 50, "slurm_job_user": 200, "slurm_job_partition": 10, "slurm_job_id": 8000,
		"hw_id": 8000, "hw_name": 8000, "k8s_pod_name": 8000, "k8s_container_name": 8000, "container_id": 8000, "process_pid": 16000,
	}
	onOneNode = map[string]int{"hw_id": 16, "hw_name": 16, "k8s_pod_name": 100, "k8s_container_name": 100, "container_id": 100, "process_pid": 200}
	// ofEach are how many values a label has for each of these things, and 1 for what belongs to one of them.
	ofEach = map[string]int{
		"hw_state": 4, "hw_gpu_task": 6, "hw_gpu_pipe": 14, "hw_limit_type": 5, "hw_sensor_location": 4, "hw_gpu_clock_domain": 4, "hw_gpu_throttle_reason": 12,
		"network_io_direction": 2, "error_type": 3, "hw_gpu_error_block": 4, "hw_gpu_memory_type": 2, "hw_gpu_xid": 3, "k8s_resource_name": 3,
		"scraper": 2, "receiver": 2, "exporter": 2, "data_type": 3, "service_name": 1, "process_executable_name": 1,
		"hw_parent": 1, "hw_gpu_partition_profile": 1, "hw_gpu_pci_address": 1, "hw_driver_version": 1, "hw_firmware_version": 1,
	}
	grouped = regexp.MustCompile(`^[(0-9* ]*(?:max|min|sum|avg|count) by \(([^)]*)\)`)
	ranked  = regexp.MustCompile(`^(?:top|bottom)k\((\d+), `)
	listed  = regexp.MustCompile(` and on \([^)]*\) topk\((\d+), `)
	single  = regexp.MustCompile(`^[(0-9* ]*(?:max|min|sum|avg|count)\(`)
)

// maxSeriesOf returns how many series a query answers with at most.
func maxSeriesOf(t *testing.T, query string, oneNode bool) int {
	t.Helper()
	if found := ranked.FindStringSubmatch(query); found != nil {
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		return n
	}
	if single.MatchString(query) {
		return 1
	}
	found := grouped.FindStringSubmatch(query)
	require.NotNil(t, found, "how many series has %s", query)
	things, each := 1, 1
	for label := range strings.SplitSeq(found[1], ", ") {
		n, isThing := inFleet[label]
		if oneNode && isThing {
			n = max(onOneNode[label], 1)
		}
		if isThing {
			things = max(things, n)
			continue
		}
		require.NotZero(t, ofEach[label], "how many values has %s in %s", label, query)
		each *= ofEach[label]
	}
	if rows := listed.FindStringSubmatch(query); rows != nil {
		n, err := strconv.Atoi(rows[1])
		require.NoError(t, err)
		return n
	}
	return things * each
}

func TestDashboardsOfLargeFleets(t *testing.T) {
	t.Parallel()
	ofEachGPU := `max by (k8s_cluster_name, node, hw_name, hw_id) (hw_power_watts)`
	assert.Equal(t, 8000, maxSeriesOf(t, ofEachGPU, false))
	assert.Equal(t, 20, maxSeriesOf(t, "topk(20, "+ofEachGPU+")", false))
	for _, d := range dashboards(t) {
		oneNode := false
		for _, v := range d.Templating.List {
			oneNode = oneNode || v.Name == "node" && !v.Multi
			if v.Name == "gpu" {
				assert.Nil(t, v.Current.Value, "%s draws the first GPU until one chooses others", d.UID)
			}
		}
		for _, p := range d.Panels {
			series := 0
			for _, target := range p.Targets {
				series += maxSeriesOf(t, target.Expr, oneNode)
			}
			assert.LessOrEqual(t, series, maxSeries, "%s: %s", d.UID, p.Title)
		}
	}
}

// Numbers of what is wrong are coloured, and the dashboards that one opens first begin with the alerts.
func TestDashboardsShowWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			if p.Type == "stat" && slices.Contains([]string{
				"Degraded", "Failure predicted", "Failed", "Missing", "Throttled", "Temperature", "Degrees left", "Unreadable sources", "Pending pods", "Reads that fail",
			}, p.Title) {
				assert.Greater(t, len(p.FieldConfig.Defaults.Thresholds.Steps), 1, "%s: %s", d.UID, p.Title)
			}
		}
		switch d.UID {
		case "gpureceiver-fleet", "gpureceiver-node", "gpureceiver-gpu", "gpureceiver-health":
			assert.Equal(t, "Firing alerts", d.Panels[1].Title, d.UID)
		}
	}
}

// Each link of a table leads to a dashboard that has the variables which the link sets, with values that the table has, or to the runbook of an alert.
func TestDashboardLinks(t *testing.T) {
	t.Parallel()
	variables := map[string]map[string]bool{}
	for _, d := range dashboards(t) {
		variables[d.UID] = map[string]bool{}
		for _, v := range d.Templating.List {
			variables[d.UID][v.Name] = true
		}
	}
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	rules, err := os.ReadFile(filepath.Join(root(t), "deploy", "prometheus", "alerting.rules.yaml"))
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1) {
		assert.Contains(t, string(page), "\n## "+found[1]+"\n", "the section to which the table of alerts leads")
	}
	seen := map[string]int{}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			columns := map[string]bool{}
			for _, transformation := range p.Transformations {
				for _, column := range transformation.Options.RenameByName {
					columns[column] = true
				}
			}
			for _, link := range linksOf(p) {
				place := fmt.Sprintf("%s: %s: %s", d.UID, p.Title, link)
				if link == "https://github.com/otelgpu/gpureceiver/blob/main/docs/operate/alerts.md#${__value.raw}" {
					seen["runbook"]++
					assert.True(t, columns["Alert"], place)
					continue
				}
				parts := regexp.MustCompile(`^/d/([a-z-]+)\?(.+)$`).FindStringSubmatch(link)
				require.NotNil(t, parts, place)
				seen[parts[1]]++
				require.Contains(t, variables, parts[1], place)
				for _, variable := range regexp.MustCompile(`var-(\w+)=`).FindAllStringSubmatch(parts[2], -1) {
					assert.True(t, variables[parts[1]][variable[1]], "%s: no variable %s there", place, variable[1])
				}
				for _, field := range regexp.MustCompile(`\$\{__data\.fields\.(\w+)\}`).FindAllStringSubmatch(parts[2], -1) {
					assert.True(t, columns[field[1]], "%s: no column %s", place, field[1])
				}
				for _, own := range regexp.MustCompile(`\$\{([a-z]+)\}`).FindAllStringSubmatch(parts[2], -1) {
					assert.True(t, variables[d.UID][own[1]], "%s: no variable %s here", place, own[1])
				}
			}
		}
	}
	for _, target := range []string{"gpureceiver-node", "gpureceiver-gpu", "runbook"} {
		assert.NotZero(t, seen[target], target)
	}
}

// linksOf returns the addresses to which the columns of a table lead.
func linksOf(p dashboardPanel) (addresses []string) {
	for _, override := range p.FieldConfig.Overrides {
		for _, property := range override.Properties {
			if list, ok := property.Value.([]any); ok && property.ID == "links" {
				for _, link := range list {
					addresses = append(addresses, link.(map[string]any)["url"].(string))
				}
			}
		}
	}
	return addresses
}
