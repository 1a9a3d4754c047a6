// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"slices"
	"strings"
)

// forms are the forms of the names of control groups. Each parses a name with the names above it, and is empty for any other name. A new
// platform is a field of Ref and a row here.
var forms = [...]struct {
	field func(*Ref) *string
	parse func(name string, above []string) string
}{
	{func(r *Ref) *string { return &r.PodUID }, podUID},
	{func(r *Ref) *string { return &r.ContainerID }, containerID},
	{func(r *Ref) *string { return &r.SlurmJob }, slurmJob},
	{func(r *Ref) *string { return &r.SystemdUnit }, systemdUnit},
}

// podUID parses the name of a pod's control group: pod<uid> with the cgroupfs driver, and with the systemd driver
// [prefix-]kubepods[-burstable|-besteffort]-pod<uid with _ for ->.slice, where prefix is the kubelet's own root.
func podUID(name string, _ []string) string {
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
// The ID has 64 hex digits with every runtime. The control groups of a runtime's monitor process (conmon) and of a Podman pod have an
// ID, but are not the container.
func containerID(name string, above []string) string {
	if len(above) > 0 && above[len(above)-1] == "libpod_parent" && !strings.HasPrefix(name, "libpod-") {
		return ""
	}
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

// slurmJob parses job_<number> below the control group of Slurm's jobs.
func slurmJob(name string, above []string) string {
	job, ok := strings.CutPrefix(name, "job_")
	if !ok || len(job) > 20 || strings.Trim(job, "0123456789") != "" || !slices.ContainsFunc(above, isSlurmRoot) {
		return ""
	}
	return job
}

// isSlurmRoot reports whether a name is that of the control group above Slurm's jobs: slurm or slurm_<node> in version 1,
// slurmstepd.scope or <node>_slurmstepd.scope in version 2.
func isSlurmRoot(name string) bool {
	return name == "slurm" || strings.HasPrefix(name, "slurm_") || strings.HasSuffix(name, "slurmstepd.scope")
}

// systemdUnit returns the name of a service or a scope. The first in a path is a unit of the machine's systemd; a user's own manager runs
// others in user@<uid>.service.
func systemdUnit(name string, _ []string) string {
	if strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".scope") {
		return name
	}
	return ""
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
