// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cgroup finds the container, Kubernetes pod, Slurm job or systemd unit of a process in the paths of its control groups. It only
// reads the names in the paths, so it works for a machine's processes and for paths that are relative to a control group namespace
// (/../…), and needs neither the container runtime nor an API. The forms of the names are in names.go.
package cgroup

import "strings"

// Ref is what a process runs in, according to its control groups. It is empty for a process in nothing of the kind.
type Ref struct {
	PodUID      string // with dashes; for a static pod, the hash of its file
	ContainerID string // without the runtime's prefix; in a pod, the pod's container and not one nested in it
	SlurmJob    string // the job id
	SystemdUnit string // only outside of containers and jobs
}

// InContainer reports whether the process is in a container or a pod.
func (r Ref) InContainer() bool { return r.PodUID != "" || r.ContainerID != "" }

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

// parsePath parses one path from its root. The outermost pod counts, and in it the outermost container: the machine's kubelet knows these,
// and not what runs nested in them (Docker in a pod, a cluster in a container).
func parsePath(path string) Ref {
	var ref Ref
	slurm := false
	above := "" // the previous name
	for part := range strings.SplitSeq(path, "/") {
		// containerd joins the names with colons if it is not configured for systemd:
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
