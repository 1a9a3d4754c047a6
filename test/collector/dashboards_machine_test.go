// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A machine outside of Kubernetes has neither cluster nor k8s_node_name: the dashboards choose and name it by host_name. Panels that
// need an agent with a kubelet are empty there.
func TestDashboardsOfMachine(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	host, err := os.Hostname()
	require.NoError(t, err)
	n := prepare(t, spec{scenario: "gpus = 2\n[gpu *]\npower = 100\nutil.gpu = 50"})
	s := shipped{
		configs: []string{"agent.yaml"}, scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", simulator(t).Full),
		env: append(n.environment(), "K8S_NODE_NAME=", "K8S_CLUSTER_NAME="),
	}
	n.page, n.process = s.start(t, n.dir, n.sink)
	address := scrapingPrometheus(t, "", n.page)
	becomes(t, address, `count(hw_power_watts)`, 2)

	here, elsewhere := map[string]string{"node": host}, map[string]string{"node": host + "-2"}
	expressions := map[string]string{}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expressions[d.UID+": "+p.Title+": "+target.RefID] = target.Expr
			}
		}
	}
	for where, want := range map[string]calculation{
		"gpureceiver-fleet: GPUs: A":       one(2),
		"gpureceiver-fleet: Nodes: E":      by(map[string]float64{fmt.Sprintf("node=%q", host): 200}),
		"gpureceiver-node: Power: A":       one(200),
		"gpureceiver-node: Utilization: A": one(0.5),
		"gpureceiver-health: Well: A":      one(2),
		"gpureceiver-workloads: Held: A":   by(nil),
	} {
		require.Contains(t, expressions, where)
		for _, chosen := range []map[string]string{nil, here} {
			sameNumbers(t, where, want, func() map[string]float64 { return answered(t, address, selected(expressions[where], chosen)) })
		}
		assert.Empty(t, answered(t, address, selected(expressions[where], elsewhere)), where)
	}
}
