// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
)

// firstNamespace is the target of the link self/ns/pid in the first PID namespace: PROC_PID_INIT_INO of
// include/uapi/linux/nsfs.h (before 6.18 include/linux/proc_ns.h), 0xEFFFFFFC.
const firstNamespace = "pid:[4026531836]"

// kthreadd is the PID of the kernel thread that starts all other kernel threads. It exists in the first PID namespace only.
const kthreadd = 2

var (
	errNamespace = errors.New("it is the process table of a container, but the driver reports process IDs of the machine")
	errUnlisted  = errors.New("process: the driver lists no process; in a PID namespace of its own, a collector never sees the " +
		"machine's processes; run with hostPID: true")
)

// checkHidden returns an error if the process table hides processes of other users, such as the first process.
func checkHidden(root string) error {
	if _, err := readBounded(root+"/1/stat", 1); err != nil {
		return fmt.Errorf("process: read the first process: %w; processes of other users are neither described nor attributed while they are "+
			"hidden (mount option hidepid, ProtectProc of a systemd unit); show them with the mount option gid or CAP_SYS_PTRACE", err)
	}
	return nil
}

// checkNamespace returns an error unless the process table is the one of the first PID namespace: either this process is in that
// namespace and in the table, or the table has kthreadd, as the machine's table has when it is mounted into a container. first
// reports whether this process is in that namespace.
func checkNamespace(root string) (first bool, err error) {
	link, linkErr := os.Readlink(root + "/self/ns/pid")
	if linkErr == nil && link == firstNamespace {
		return true, nil
	}
	data, err := readBounded(fmt.Sprintf("%s/%d/stat", root, kthreadd), maxStat)
	if err == nil {
		if s, err := parseStat(data); err == nil && s.flags&kernelThread != 0 {
			return false, nil
		}
	}
	if _, err := os.Lstat(root + "/stat"); err != nil {
		return false, fmt.Errorf("process: read the process table at %s: %w; mount the machine's /proc there", root, err)
	}
	return false, fmt.Errorf("process: read the process table at %s: %w; processes are neither described nor attributed; "+
		"run with hostPID: true, or, for AMD GPUs, mount the machine's /proc and set proc_path", root, errNamespace)
}
