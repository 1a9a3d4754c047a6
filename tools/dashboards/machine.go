// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

// machine is the dashboard of one machine without Kubernetes: the panels of GPU node that every collector fills. Such a machine has neither a
// cluster nor a k8s_node_name.
func machine() board {
	b := node()
	b.uid, b.title = "gpureceiver-machine", "GPU machine"
	b.description = "One machine without Kubernetes: its GPUs, and the processes on them. Alerts and errors are on GPU health."
	b.variables = []variable{{name: "node", label: "Machine", query: `label_values(hw_gpu_count{k8s_node_name=""}, host_name)`, single: true}}
	matchers := strings.NewReplacer(ofModel, onMachine, onNode, onMachine)
	var rows []row
	for _, r := range b.rows {
		r.panels = slices.DeleteFunc(r.panels, func(p panel) bool { return p.empty != anyCollector })
		for i, p := range r.panels {
			r.panels[i].queries = nil // dashboards share the others
			for _, q := range p.queries {
				r.panels[i].queries = append(r.panels[i].queries, query{matchers.Replace(q.expression), q.legend})
			}
		}
		if len(r.panels) > 0 {
			rows = append(rows, r)
		}
	}
	b.rows = rows
	return b
}
