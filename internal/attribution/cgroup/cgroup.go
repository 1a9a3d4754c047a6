// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cgroup finds the container, Kubernetes pod, batch job or systemd unit of a process in the paths of its control groups. It only
// reads the names in the paths, so it works for a machine's processes and for paths that are relative to a control group namespace
// (/../…), and needs neither the container runtime nor an API. The forms of the names are in containers.go, guests.go, jobs.go and
// units.go.
package cgroup

import "strings"

// Parse parses the content of /proc/<pid>/cgroup (cgroups(7)): a line hierarchy:controllers:path for each hierarchy of version 1, and the
// line 0::path for version 2. The line that says most counts, because not every runtime uses all hierarchies.
func Parse(content string) Ref {
	var best Ref
	for line := range strings.Lines(content) {
		_, rest, _ := strings.Cut(line, ":")
		_, path, _ := strings.Cut(rest, ":")
		// The mark of a control group that is gone, of a process that has ended and was not waited for (cgroups(7)).
		path = strings.TrimSuffix(strings.TrimRight(path, "\n"), " (deleted)")
		if ref := parsePath(path); ref.rank() > best.rank() {
			best = ref
		}
	}
	return best
}

// rank orders refs by what they identify: a field of an earlier place outweighs all later ones.
func (r Ref) rank() int {
	rank := 0
	for _, field := range [...]string{r.PodUID, r.ContainerID, r.ContainerName, r.SlurmJob, r.SlurmSLUID, r.BatchJob, r.SystemdUnit} {
		rank <<= 1
		if field != "" {
			rank++
		}
	}
	return rank
}

// parsePath parses one path from its root. The outermost pod counts, and in it the outermost container: the machine's kubelet knows these,
// and not what runs nested in them (Docker in a pod, a cluster in a container). So does the outermost guest and job.
func parsePath(path string) Ref {
	var ref Ref
	var above []string
	for part := range strings.SplitSeq(path, "/") {
		// containerd joins the names with colons if it is not configured for systemd:
		// system.slice:containerd.service:kubepods-pod….slice:cri-containerd:<id>.
		for name := range strings.SplitSeq(part, ":") {
			ref.add(name, above)
			above = append(above, name)
		}
	}
	if ref.InContainer() || ref.InJob() {
		ref.SystemdUnit = ""
	} else {
		ref.SystemdUnit = unitOf(above)
	}
	return ref
}

// add sets what the name of a control group identifies, by the first form that it has, unless a control group above identifies that.
func (r *Ref) add(name string, above []string) {
	if name == "" {
		return
	}
	if uid := podUID(name); uid != "" {
		if r.PodUID == "" {
			// A container or guest above the pod is the machine of a nested cluster.
			r.PodUID, r.ContainerID, r.ContainerName = uid, "", ""
		}
		return
	}
	if id := containerID(name, above); id != "" {
		set(&r.ContainerID, id)
		return
	}
	if guest := containerName(name, above); guest != "" {
		if r.PodUID == "" && r.ContainerID == "" {
			set(&r.ContainerName, guest)
		}
		return
	}
	if job := slurmJob(name, above); job != "" {
		if r.SlurmSLUID == "" {
			set(&r.SlurmJob, job)
		}
		return
	}
	if sluid := slurmSLUID(name, above); sluid != "" {
		if r.SlurmJob == "" {
			set(&r.SlurmSLUID, sluid)
		}
		return
	}
	if r.BatchJob == "" {
		r.BatchSystem, r.BatchJob = batchJob(name, above)
	}
}

// set sets a field unless it is set.
func set(field *string, value string) {
	if *field == "" {
		*field = value
	}
}
