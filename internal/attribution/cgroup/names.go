// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import "strings"

// podUID parses the name of a pod's control group: pod<uid> with the cgroupfs driver, and with the systemd driver
// [prefix-]kubepods[-burstable|-besteffort]-pod<uid with _ for ->.slice, where prefix is the kubelet's own root.
func podUID(name string) string {
	if slice, ok := strings.CutSuffix(name, ".slice"); ok {
		i := strings.LastIndex(slice, "-pod")
		if i < 0 || !strings.Contains(slice[:i], "kubepods") {
			return ""
		}
		return uid(slice[i+len("-pod"):])
	}
	rest, ok := strings.CutPrefix(name, "pod")
	if !ok {
		return ""
	}
	return uid(rest)
}

// uid returns a pod's UID with dashes: a UUID, or the 32 hex digits of a static pod's hash. It is empty if s is neither.
func uid(s string) string {
	switch len(s) {
	case 32:
		if isHex(s) {
			return s
		}
	case 36:
		dashed := strings.ReplaceAll(s, "_", "-")
		rest := dashed
		for i, length := range [...]int{8, 4, 4, 4, 12} {
			part, after, more := strings.Cut(rest, "-")
			if len(part) != length || !isHex(part) || more != (i < 4) {
				return ""
			}
			rest = after
		}
		return dashed
	}
	return ""
}

// containerID parses the name of a container's control group: <id> with the cgroupfs driver, <runtime>-<id>.scope with the systemd driver.
// The ID has 64 hex digits with every runtime. The control group of a runtime's monitor process (conmon) has the container's ID, but is
// not the container.
func containerID(name string) string {
	name = strings.TrimSuffix(name, ".scope")
	i := strings.LastIndexByte(name, '-')
	if i >= 0 && strings.HasSuffix(name[:i], "conmon") {
		return ""
	}
	id := name[i+1:]
	if len(id) != 64 || !isHex(id) {
		return ""
	}
	return id
}

// slurmRoot reports whether a name is that of the control group above Slurm's jobs: slurm or slurm_<node> in version 1,
// slurmstepd.scope or <node>_slurmstepd.scope in version 2.
func slurmRoot(name string) bool {
	return name == "slurm" || strings.HasPrefix(name, "slurm_") || strings.HasSuffix(name, "slurmstepd.scope")
}

// slurmJob parses job_<number>.
func slurmJob(name string) string {
	job, ok := strings.CutPrefix(name, "job_")
	if !ok || len(job) > 20 {
		return ""
	}
	for i := range len(job) {
		if job[i] < '0' || job[i] > '9' {
			return ""
		}
	}
	return job
}

// isUnit reports whether a name is that of a systemd service or scope. The first in a path is a unit of the machine's systemd; a user's
// own manager runs others in user@<uid>.service.
func isUnit(name string) bool {
	return strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".scope")
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
