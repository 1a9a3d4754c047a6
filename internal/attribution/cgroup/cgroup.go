// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cgroup tells from a process's control groups which container, Kubernetes pod, Slurm job or systemd unit it runs
// in. It only reads the names in the paths, so it works for a machine's processes and for paths that are relative to a
// control group namespace (/../…), and needs neither the container runtime nor an API.
package cgroup

import "strings"

// Ref is what control groups tell of a process. All of it is empty for a process that is in nothing of the kind.
type Ref struct {
	PodUID      string // with dashes; the hash of its file for a static pod
	ContainerID string // without the runtime's prefix; within a pod the pod's container, not one nested in it
	SlurmJob    string // the job id
	SystemdUnit string // only outside of containers and jobs
}

// InContainer tells whether the process is in a container or a pod.
func (r Ref) InContainer() bool { return r.PodUID != "" || r.ContainerID != "" }

// Parse reads the content of /proc/<pid>/cgroup (cgroups(7)): a line hierarchy:controllers:path for each hierarchy of
// version 1, and the line 0::path for version 2. Where several lines tell something, the one that tells most counts:
// not all hierarchies are used by every runtime.
func Parse(content string) Ref {
	var best Ref
	for line := range strings.Lines(content) {
		_, rest, _ := strings.Cut(line, ":")
		_, path, _ := strings.Cut(rest, ":")
		// cgroups(7) marks a control group so that is gone, of a process that has ended and was not waited for.
		path = strings.TrimSuffix(strings.TrimRight(path, "\n"), " (deleted)")
		if ref := parsePath(path); ref.rank() > best.rank() {
			best = ref
		}
	}
	return best
}

func (r Ref) rank() int {
	switch {
	case r.PodUID != "" && r.ContainerID != "":
		return 5
	case r.PodUID != "":
		return 4
	case r.ContainerID != "":
		return 3
	case r.SlurmJob != "":
		return 2
	case r.SystemdUnit != "":
		return 1
	default:
		return 0
	}
}

// parsePath reads one path from its root on. The outermost pod counts, and in it the outermost container: that is the one
// the machine's kubelet knows; what runs nested in it (Docker in a pod, a cluster in a container) is its business.
func parsePath(path string) Ref {
	var ref Ref
	slurm := false
	above := "" // the name before
	for part := range strings.SplitSeq(path, "/") {
		// containerd that is not told of systemd joins the names with colons:
		// system.slice:containerd.service:kubepods-pod….slice:cri-containerd:<id>.
		for name := range strings.SplitSeq(part, ":") {
			if uid := podUID(name); uid != "" && ref.PodUID == "" {
				// A container found before it is the machine that a nested cluster runs in.
				ref.PodUID, ref.ContainerID = uid, ""
				continue
			}
			podmanPod := above == "libpod_parent" && !strings.HasPrefix(name, "libpod-")
			above = name
			if id := containerID(name); id != "" && ref.ContainerID == "" && !podmanPod {
				ref.ContainerID = id
				continue
			}
			if slurm && ref.SlurmJob == "" {
				ref.SlurmJob = slurmJob(name)
			}
			slurm = slurm || slurmRoot(name)
			if ref.SystemdUnit == "" && isUnit(name) {
				ref.SystemdUnit = name
			}
		}
	}
	switch {
	case ref.InContainer():
		ref.SlurmJob, ref.SystemdUnit = "", ""
	case ref.SlurmJob != "":
		ref.SystemdUnit = ""
	}
	return ref
}
