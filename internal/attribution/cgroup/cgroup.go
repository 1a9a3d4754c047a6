// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cgroup finds the container, Kubernetes pod, Slurm job or systemd unit of a process in the paths of its control groups. It only
// reads the names in the paths, so it works for a machine's processes and for paths that are relative to a control group namespace
// (/../…), and needs neither the container runtime nor an API. The forms of the names are in names.go.
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

// rank orders refs by what they identify: a form of an earlier row outweighs those of all later rows.
func (r Ref) rank() int {
	rank := 0
	for _, form := range forms {
		rank <<= 1
		if *form.field(&r) != "" {
			rank++
		}
	}
	return rank
}

// parsePath parses one path from its root. The outermost pod counts, and in it the outermost container: the machine's kubelet knows these,
// and not what runs nested in them (Docker in a pod, a cluster in a container).
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
	switch {
	case ref.InContainer():
		ref.SlurmJob, ref.SystemdUnit = "", ""
	case ref.SlurmJob != "":
		ref.SystemdUnit = ""
	}
	return ref
}

// add sets what the name of a control group identifies, by the first form that it has, unless a control group above identifies that.
func (r *Ref) add(name string, above []string) {
	for _, form := range forms {
		field := form.field(r)
		if id := form.parse(name, above); id != "" && *field == "" {
			*field = id
			if field == &r.PodUID {
				r.ContainerID = "" // a container above the pod is the machine of a nested cluster
			}
			return
		}
	}
}
