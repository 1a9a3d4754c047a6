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
)

// slurmBoard is the dashboard of Slurm's jobs: only an agent with overlays/slurm.yaml has its data.
const slurmBoard = "gpureceiver-slurm"

// slurmExpectations are the answers to the queries on Slurm of docs/operate/queries.md, by the label that distinguishes the series.
var slurmExpectations = map[string]struct {
	label  string
	values map[string]float64
	within float64
}{
	"Held, by account of Slurm":      {"slurm_job_account", map[string]float64{"physics": 2, "biology": 1}, 0},
	"Held, by user and job of Slurm": {"slurm_job_user slurm_job_id", map[string]float64{"ada 42": 2, "rosalind 43": 1}, 0},
	"Idle, by account of Slurm":      {"slurm_job_account", map[string]float64{"physics": 1 + 0.1, "biology": 1}, 0.15},
	"Energy, by user of Slurm":       {"slurm_job_user", map[string]float64{"ada": 20 * (600 + 70) / 3.6e6, "rosalind": 20 * 70 / 3.6e6}, 0.3},
}

// A node of Slurm with overlays/slurm.yaml: every panel of the dashboard of Slurm and every documented query has an answer, by account, user and job.
func TestSlurm(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	n := &workloadNode{node: prepare(t, spec{scenario: "gpus = 4\n[gpu *]\nboard = h100\nutil.gpu = 0\npower = 70\nmemory.base = 0\n" +
		"[gpu 0]\nutil.gpu = 90\npower = 600\n[process train]\ngpu = 0\npid = 5001\nmemory = 40Gi\nsm = 90\n"})}
	n.proc, n.logs = filepath.Join(n.dir, "proc"), filepath.Join(n.dir, "log")
	n.file("proc/stat", "cpu  1 2 3\nbtime 1700000000\n")
	n.running(5001, "system.slice/slurmstepd.scope/job_42/step_0/user/task_0")
	for name, text := range map[string]string{
		"0": "42\n", "1": "42\n", "2": "43\n",
		"job.42": "user=ada\naccount=physics\npartition=gpu\n", "job.43": "user=rosalind\naccount=biology\npartition=gpu\n",
	} {
		n.file("jobs/"+name, text)
	}
	require.NoError(t, os.Chmod(filepath.Join(n.dir, "jobs"), 0o755)) // as the prolog creates it
	s := shipped{
		configs:  []string{"agent.yaml", filepath.Join("overlays", "slurm.yaml")},
		scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}\n    attribution: {processes: {proc_path: %q, any_pid_namespace: true}}", simulator(t).Full, n.proc),
		env:      append(n.environment(), "K8S_NODE_NAME=", "K8S_CLUSTER_NAME=", "GPU_JOB_MAPPING_DIR="+filepath.Join(n.dir, "jobs")),
	}
	n.page, n.process = s.start(t, n.dir, n.sink)
	address := scrapingPrometheus(t, "", n.page)
	becomes(t, address, `sum(container_gpu_allocated{slurm_job_id!=""})`, 3)
	becomes(t, address, `min(count_over_time(hw_power_watts[1m])) >= bool 15`, 1)

	panels := 0
	for _, panel := range everyQuery(t) {
		if strings.HasPrefix(panel.place, slurmBoard+":") {
			panels++
			someNumbers(t, panel.place, func() map[string]float64 { return answered(t, address, selected(panel.expression, nil)) })
		}
	}
	assert.Greater(t, panels, 10)
	documented := queries(t)
	for heading, want := range slurmExpectations {
		require.Contains(t, documented, heading)
		sameNumbers(t, heading, calculation{want.values, want.within}, func() map[string]float64 {
			return answers(t, address, ranges.ReplaceAllString(documented[heading], "[20s]"), want.label)
		})
	}
}
