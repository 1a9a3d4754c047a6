// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// machineBoard is the dashboard of one machine without Kubernetes.
const machineBoard = "gpureceiver-machine"

// A machine outside of Kubernetes has neither cluster nor k8s_node_name: the dashboards choose and name it by host_name. Panels that
// need an agent with a kubelet are empty there. Its own dashboard has no empty panel, whichever vendor made the GPUs.
func TestDashboardsOfMachine(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	host, err := os.Hostname()
	require.NoError(t, err)
	n := prepare(t, spec{scenario: "gpus = 2\n[gpu *]\npower = 100\nutil.gpu = 50\n[process train]\ngpu = 0\npid = self\nmemory = 1Gi"})
	s := shipped{
		configs: []string{"agent.yaml"}, scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", simulator(t).Full),
		env: append(n.environment(), "K8S_NODE_NAME=", "K8S_CLUSTER_NAME="),
	}
	n.page, n.process = s.start(t, n.dir, n.sink)
	address := scrapingPrometheus(t, "", n.page)
	becomes(t, address, `count(hw_power_watts)`, 2)
	noEmptyPanel(t, address, host)

	here, elsewhere := map[string]string{"node": host}, map[string]string{"node": host + "-2"}
	expressions := map[string]string{}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expressions[d.UID+": "+p.Title+": "+target.RefID] = target.Expr
			}
		}
	}
	for place, want := range map[string]calculation{
		"gpureceiver-fleet: GPUs: A":       one(2),
		"gpureceiver-fleet: Nodes: E":      byLabels(map[string]float64{fmt.Sprintf("node=%q", host): 200}),
		"gpureceiver-node: Power: A":       one(200),
		"gpureceiver-node: Utilization: A": one(0.5),
		"gpureceiver-machine: Power: A":    one(200),
		"gpureceiver-health: Healthy: A":   one(2),
		"gpureceiver-workloads: Held: A":   byLabels(nil),
	} {
		require.Contains(t, expressions, place)
		for _, chosen := range []map[string]string{nil, here} {
			sameNumbers(t, place, want, func() map[string]float64 { return answered(t, address, selected(expressions[place], chosen)) })
		}
		assert.Empty(t, answered(t, address, selected(expressions[place], elsewhere)), place)
	}

	files := filepath.Join(t.TempDir(), "host")
	_, err = amdgpusim.Write(files, amdgpusim.MI300XSPX())
	require.NoError(t, err)
	amd := shipped{
		configs: []string{"amd.yaml"}, scrapers: fmt.Sprintf("scrapers: {amdgpu: {root_path: %q}}", files), env: []string{"K8S_NODE_NAME=", "K8S_CLUSTER_NAME="},
	}
	page, _ := amd.start(t, t.TempDir(), n.sink)
	noEmptyPanel(t, scrapingPrometheus(t, "", page), host)
}

// noEmptyPanel waits until each panel of the machine's dashboard has data.
func noEmptyPanel(t *testing.T, address, host string) {
	t.Helper()
	panels := 0
	for _, panel := range everyQuery(t) {
		if strings.HasPrefix(panel.place, machineBoard+":") {
			panels++
			someNumbers(t, panel.place, func() map[string]float64 {
				return answered(t, address, selected(panel.expression, map[string]string{"node": host}))
			})
		}
	}
	assert.Greater(t, panels, 10)
}
