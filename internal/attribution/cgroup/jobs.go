// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"slices"
	"strings"
)

// slurmJob parses job_<number> below the control group of Slurm's jobs.
func slurmJob(name string, above []string) string {
	job, ok := strings.CutPrefix(name, "job_")
	if !ok || !isDecimal(job) || !slices.ContainsFunc(above, isSlurmRoot) {
		return ""
	}
	return job
}

// slurmSLUID parses the name that Slurm 26.05 gives to a job's control group of version 2: the letter s and 13 characters of Crockford's
// base 32, directly below the control group of Slurm's jobs.
func slurmSLUID(name string, above []string) string {
	digits, ok := strings.CutPrefix(name, "s")
	if !ok || len(digits) != 13 || strings.Trim(digits, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" || !isSlurmScope(parent(above)) {
		return ""
	}
	return name
}

// isSlurmRoot reports whether a name is the name of the control group above Slurm's jobs: slurm or slurm_<node> in version 1,
// slurmstepd.scope or <node>_slurmstepd.scope in version 2.
func isSlurmRoot(name string) bool {
	return name == "slurm" || strings.HasPrefix(name, "slurm_") || isSlurmScope(name)
}

func isSlurmScope(name string) bool {
	return name == "slurmstepd.scope" || strings.HasSuffix(name, "_slurmstepd.scope")
}

// batchSystems are the other batch systems, each with the form of the names that it gives to its jobs' control groups. A new one is a row.
var batchSystems = [...]struct {
	name  string
	parse func(name string, above []string) string
}{
	{"flux", fluxJob},
	{"grid_engine", gridEngineJob},
	{"htcondor", condorSlot},
	{"lsf", lsfJob},
	{"nomad", nomadTask},
	{"pbs", pbsJob},
	{"yarn", yarnContainer},
}

// batchJob parses the name of a job's control group by the first form that it has.
func batchJob(name string, above []string) (system, job string) {
	for _, b := range batchSystems {
		if job := b.parse(name, above); job != "" {
			return b.name, job
		}
	}
	return "", ""
}

// fluxJob parses the unit in which Flux runs a job's shell: imp-shell-<id>.service, or shell-<id>.service without its security module, of
// the user manager of Flux's user. The ID is in F58, which starts with f.
func fluxJob(name string, above []string) string {
	job, isShell := strings.CutPrefix(strings.TrimPrefix(name, "imp-"), "shell-")
	job, isService := strings.CutSuffix(job, ".service")
	if !isShell || !isService || !strings.HasPrefix(job, "f") || !isBase58(job[1:]) || !slices.ContainsFunc(above, isUserManager) {
		return ""
	}
	return job
}

func isBase58(s string) bool {
	return s != "" && strings.Trim(s, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz") == ""
}

// gridEngineJob parses <job>.<task> below the control group sge; the task of a job that is not an array is undefined or 1.
func gridEngineJob(name string, above []string) string {
	job, task, ok := strings.Cut(name, ".")
	if !ok || parent(above) != "sge" || !isDecimal(job) || (task != "undefined" && !isDecimal(task)) {
		return ""
	}
	return name
}

// condorSlot parses condor<execute directory with _ for />_<slot>: the path does not name the job, and a slot runs one job at a time.
func condorSlot(name string, above []string) string {
	rest, ok := strings.CutPrefix(name, "condor_")
	i := strings.LastIndex(rest, "_slot")
	if !ok || i < 0 || i+len("_slot") == len(rest) || !slices.ContainsFunc(above, isCondorRoot) {
		return ""
	}
	return rest[i+1:]
}

func isCondorRoot(name string) bool { return name == "htcondor" || name == "condor.service" }

// lsfJob parses job.<id>.<…> or job.<id>[<index>]<…> below lsf/<cluster>.
func lsfJob(name string, above []string) string {
	rest, ok := strings.CutPrefix(name, "job.")
	if !ok || len(above) < 2 || above[len(above)-2] != "lsf" {
		return ""
	}
	job, _, _ := strings.Cut(rest, ".")
	number, index, isArray := strings.Cut(job, "[")
	if !isDecimal(number) || (isArray && !isDecimal(strings.TrimSuffix(index, "]"))) {
		return ""
	}
	return job
}

// nomadTask parses <allocation>.<task>, with a UUID as the allocation: in nomad, nomad/share or nomad/reserve in version 1, and with .scope
// in the slices of nomad.slice in version 2.
func nomadTask(name string, above []string) string {
	name = strings.TrimSuffix(name, ".scope")
	allocation, task, ok := strings.Cut(name, ".")
	isNomad := func(name string) bool { return name == "nomad" || name == "nomad.slice" }
	if !ok || task == "" || uid(allocation) != allocation || !slices.ContainsFunc(above, isNomad) {
		return ""
	}
	return name
}

// pbsJob parses the job below pbs_jobs.service/jobid in version 1 and below pbs_jobs.service/jobs in version 2: <number>.<server>,
// with [<index>] after the number for a job of an array.
func pbsJob(name string, above []string) string {
	if len(above) < 2 || above[len(above)-2] != "pbs_jobs.service" || (parent(above) != "jobid" && parent(above) != "jobs") {
		return ""
	}
	return unescape(name)
}

// yarnContainer parses container_[e<epoch>_]<cluster's start>_<application>_<attempt>_<container>.
func yarnContainer(name string, _ []string) string {
	parts := strings.Split(name, "_")
	if len(parts) < 5 || parts[0] != "container" {
		return ""
	}
	numbers := parts[1:]
	if epoch, ok := strings.CutPrefix(numbers[0], "e"); ok {
		if !isDecimal(epoch) {
			return ""
		}
		numbers = numbers[1:]
	}
	if len(numbers) != 4 || slices.ContainsFunc(numbers, func(n string) bool { return !isDecimal(n) }) {
		return ""
	}
	return name
}
