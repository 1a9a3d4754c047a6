// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// slurmJobs is what an agent needs to know the jobs of Slurm.
const slurmJobs = "No data: needs an agent with attribution::slurm and attribution::processes (overlays/slurm.yaml)"

// slurm is the dashboard of allocated, used and idle GPUs by account, user and job of Slurm.
func slurm() board {
	const account, user = "slurm_job_account", "slurm_job_user"
	const job = "slurm_job_account, slurm_job_user, slurm_job_partition, slurm_job_id"
	ofJobs := `slurm_job_id!="", slurm_job_account=~"$account", slurm_job_user=~"$user"`
	each := func(expression string) string { return "max by (" + job + ", hw_id) (" + expression + ")" }
	allocated := each(series("container_gpu_allocated", ofJobs)) + " == 1"
	used := each(series("container_gpu_utilization_ratio", ofJobs, `hw_gpu_task="general"`))
	idle := each("rate(" + series("container_gpu_idle_time_seconds_total", ofJobs) + "[$__rate_interval])")
	power := each(series("container_gpu_power_watts", ofJobs))
	memory := each(series("container_gpu_memory_usage_bytes", ofJobs))
	held := each("sum_over_time("+series("container_gpu_allocated", ofJobs)+"[$__range:15s])") + " / 240" // hours
	idleOfRange := each("increase("+series("container_gpu_idle_time_seconds_total", ofJobs)+"[$__range])") + " / 3600"
	energyOfRange := each("increase("+series("container_gpu_energy_joules_total", ofJobs)+"[$__range])") + " / 3.6e6"
	byLabel := func(label string) []panel {
		legend := "{{" + label + "}}"
		return []panel{
			graph("Held", "short", slurmJobs, "GPUs that jobs hold.", query{sum(label, allocated), legend}),
			graph("In use", "short", slurmJobs, "1 is one GPU that is busy all the time.", query{sum(label, used), legend}),
			graph("Idle", "short", slurmJobs, "1 is one allocated GPU that does nothing all the time.", query{sum(label, idle), legend}),
			graph("Power", "watt", slurmJobs, "Power of what jobs do.", query{sum(label, power), legend}),
		}
	}
	titled := func(panels []panel, suffix string) []panel {
		for i := range panels {
			panels[i].title += suffix
		}
		return panels
	}
	table := func(title, labels string, columns map[string]string) panel {
		columns["Value #A"], columns["Value #B"], columns["Value #C"] = "GPU hours", "Idle GPU hours", "Energy"
		return list(title, slurmJobs, "GPU hours held, idle GPU hours and energy in the time range; the 200 highest values of each column.", columns,
			query{first(sum(labels, held)), "h"}, query{first(sum(labels, idleOfRange)), "h"}, query{first(sum(labels, energyOfRange)), "kwatth"})
	}
	return board{
		uid: "gpureceiver-slurm", title: "GPU jobs of Slurm", description: "GPUs that jobs of Slurm hold, use and leave idle, by account, user and job.",
		variables: []variable{
			{name: "account", label: "Account", query: `label_values(container_gpu_allocated{slurm_job_id!=""}, slurm_job_account)`},
			{name: "user", label: "User", query: `label_values(container_gpu_allocated{slurm_job_id!="", slurm_job_account=~"$account"}, slurm_job_user)`},
		},
		rows: []row{
			{"Now", []panel{
				number("Held", "short", slurmJobs, "GPUs that jobs hold.", sum("", allocated)),
				number("In use", "short", slurmJobs, "1 is one GPU that is busy all the time.", sum("", used)),
				number("Idle", "short", slurmJobs, "1 is one allocated GPU that does nothing all the time.", sum("", idle)),
				number("Jobs", "short", slurmJobs, "Jobs that hold a GPU.", "count(count by (slurm_job_id) ("+allocated+"))"),
				number("Memory", "bytes", slurmJobs, "Memory of the jobs' processes.", sum("", memory)),
				number("Power", "watt", slurmJobs, "Power of what jobs do.", sum("", power)),
			}},
			{"By account", titled(byLabel(account), " by account")},
			{"By user", titled(byLabel(user), " by user")},
			{"Time range", []panel{
				table("Accounts", account, map[string]string{"slurm_job_account": "Account"}),
				table("Users", user, map[string]string{"slurm_job_user": "User"}),
				table("Jobs of the time range", job, map[string]string{
					"slurm_job_account": "Account", "slurm_job_user": "User", "slurm_job_partition": "Partition", "slurm_job_id": "Job",
				}),
			}},
		},
	}
}
