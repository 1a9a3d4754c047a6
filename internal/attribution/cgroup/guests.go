// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import "strings"

// containerName parses the name of the control group of a container that has a name in place of an ID.
func containerName(name string, above []string) string {
	for _, parse := range [...]func(string, []string) string{lxcGuest, machineGuest, apptainer, containerdTask} {
		if found := parse(name, above); found != "" {
			return found
		}
	}
	return ""
}

// lxcGuest parses the control group of an LXC guest, which LXD, Incus and Proxmox use: lxc.payload.<name>, and <name> below lxc or
// lxc.payload. The control group of the guest's monitor (lxc.monitor…) is the host's.
func lxcGuest(name string, above []string) string {
	if guest, ok := strings.CutPrefix(name, "lxc.payload."); ok {
		return guest
	}
	switch parent(above) {
	case "lxc", "lxc.payload":
		return name
	}
	return ""
}

// machineGuest parses the unit of a guest that systemd-machined knows: machine-<name>.scope and systemd-nspawn@<name>.service of
// systemd-nspawn, machine-lxc\x2d<number>\x2d<name>.scope of libvirt. A virtual machine is not a container.
func machineGuest(name string, _ []string) string {
	if guest, ok := strings.CutPrefix(name, "systemd-nspawn@"); ok {
		guest, ok = strings.CutSuffix(guest, ".service")
		if ok {
			return unescape(guest)
		}
		return ""
	}
	guest, isMachine := strings.CutPrefix(name, "machine-")
	guest, isScope := strings.CutSuffix(guest, ".scope")
	if !isMachine || !isScope {
		return ""
	}
	guest = unescape(guest)
	if strings.HasPrefix(guest, "qemu-") {
		return ""
	}
	if rest, ok := strings.CutPrefix(guest, "lxc-"); ok {
		if number, libvirt, ok := strings.Cut(rest, "-"); ok && isDecimal(number) && libvirt != "" {
			return libvirt
		}
	}
	return guest
}

// apptainer parses the control group that Apptainer and Singularity create for a container with limits: <program>-<pid>.scope in a user's
// or the system's slice, <pid> below <program> if systemd is not used.
func apptainer(name string, above []string) string {
	for _, program := range [...]string{"apptainer", "singularity"} {
		if parent(above) == program && isDecimal(name) {
			return program + "-" + name
		}
		if pid, ok := strings.CutPrefix(name, program+"-"); ok {
			if pid, ok = strings.CutSuffix(pid, ".scope"); ok && isDecimal(pid) {
				return program + "-" + pid
			}
		}
	}
	return ""
}

// containerdTask parses the control group that containerd's own client (ctr) gives to a task with a name: /default/<name>. Its first part
// is the namespace default.
func containerdTask(name string, above []string) string {
	if len(above) == 2 && above[0] == "" && above[1] == "default" {
		return name
	}
	return ""
}
