// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// What the panels of GPU hours and cost need.
const (
	billRules  = "No data: needs an agent, and recording.rules.yaml in Prometheus"
	billPrices = "No data: needs an agent, recording.rules.yaml, and a price for the model (prices.example.yaml)"
)

// bill is the dashboard of GPU-hours, energy and cost, by the recording rules of the group gpu.bill.
func bill() board {
	const chosen = `k8s_cluster_name=~"$cluster", k8s_namespace_name=~"$namespace"`
	// A value of the rules stands for a minute.
	hours := func(metric, labels, divisor string) string {
		return sum(labels, "sum_over_time("+series("bill:"+metric+":sum", chosen)+"[$__range])") + " / " + divisor
	}
	const namespace = "k8s_namespace_name"
	now := func(metric string) query {
		return query{sum(namespace, series("bill:"+metric+":sum", chosen)), "{{" + namespace + "}}"}
	}
	table := func(title, description, labels string, columns map[string]string) panel {
		for letter, column := range map[string]string{"A": "Held", "B": "Used", "C": "Idle", "D": "Energy", "E": "Cost"} {
			columns["Value #"+letter] = column
		}
		return list(title, billRules, description+" The 200 highest values of each column.", columns,
			query{first(hours("gpu_held", labels, "60")), "h"}, query{first(hours("gpu_used", labels, "60")), "h"}, query{first(hours("gpu_idle", labels, "60")), "h"},
			query{first(hours("gpu_power_watts", labels, "6e4")), "kwatth"}, query{first(hours("cost_per_hour", labels, "60")), "short"})
	}
	return board{
		uid: "gpureceiver-bill", title: "GPU hours and cost", description: "GPU hours that were held, used and idle, energy and cost in the time range, by namespace, team, account of Slurm and model. A shared GPU is divided among its holders.",
		variables: []variable{clusterVariable, {name: "namespace", label: "Namespace", query: `label_values(bill:gpu_held:sum{k8s_cluster_name=~"$cluster"}, k8s_namespace_name)`}},
		rows: []row{
			{"Time range", []panel{
				number("Held", "h", billRules, "GPU hours in which no other could have the GPU.", hours("gpu_held", "", "60")),
				number("Used", "h", billRules, "GPU hours in which what holds the GPU used it.", hours("gpu_used", "", "60")),
				number("Idle", "h", billRules, "GPU hours in which what holds the GPU did not use it. Held hours that are neither used nor idle are not known.", hours("gpu_idle", "", "60")),
				number("Energy", "kwatth", billRules, "Energy of what was held. Absent on MIG instances.", hours("gpu_power_watts", "", "6e4")),
				number("Cost", "short", billPrices, "Held hours and energy at the prices of your rules. A model without a price has no cost.", hours("cost_per_hour", "", "60")),
			}},
			{"By holder", []panel{
				table("By namespace", "GPU hours, kWh and cost in the time range.", "k8s_cluster_name, "+namespace, map[string]string{"k8s_cluster_name": "Cluster", namespace: "Namespace"}),
				table("By team and account", "By the pods' label that the rules have (team), and by account of Slurm.", "k8s_pod_label_team, slurm_job_account", map[string]string{"k8s_pod_label_team": "Team", "slurm_job_account": "Account"}),
				table("By model", "GPU hours, kWh and cost in the time range.", "hw_model", map[string]string{"hw_model": "Model"}),
			}},
			{"Over time", []panel{
				graph("Held by namespace", "short", billRules, "GPUs that containers and jobs hold.", now("gpu_held")),
				graph("Idle by namespace", "short", billRules, "GPUs that are held and idle.", now("gpu_idle")),
				graph("Power by namespace", "watt", billRules, "Power of what is held.", now("gpu_power_watts")),
				graph("Cost per hour by namespace", "short", billPrices, "Held GPUs and power at the prices of your rules.", now("cost_per_hour")),
			}},
		},
	}
}
