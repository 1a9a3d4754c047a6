// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
)

// firstNamespace is what the link self/ns/pid reads in the first PID namespace: PROC_PID_INIT_INO of
// include/uapi/linux/nsfs.h (before 6.18 include/linux/proc_ns.h), 0xEFFFFFFC.
const firstNamespace = "pid:[4026531836]"

// kthreadd is the process id of the kernel thread that starts all others. It has a number in the first PID namespace
// only.
const kthreadd = 2

var (
	errNamespace = errors.New("it shows the processes of a container, not of the machine whose process ids the driver tells")
	errUnlisted  = errors.New("process: the driver lists no process, and lists none of the machine's to a collector " +
		"in a PID namespace of its own; run with hostPID: true")
)

// checkHidden tells that a process table does not show other users' processes: the first process cannot be looked at.
func checkHidden(root string) error {
	if _, err := readFile(root+"/1/stat", make([]byte, 1)); err != nil {
		return fmt.Errorf("process: look at the first process: %w; where other users' processes are hidden (hidepid of the mount, ProtectProc of "+
			"a systemd unit) they are not described or attributed; have them shown by the mount's option gid or CAP_SYS_PTRACE", err)
	}
	return nil
}

// checkNamespace tells whether a process table is that of the first PID namespace: this process is in it and in the
// table, or the table has the kernel's thread number 2, which is how the machine's table looks when it is mounted into a
// container. first tells whether this process is in it.
func checkNamespace(root string) (first bool, err error) {
	link, linkErr := os.Readlink(root + "/self/ns/pid")
	if linkErr == nil && link == firstNamespace {
		return true, nil
	}
	buf := make([]byte, 2048)
	n, err := readFile(fmt.Sprintf("%s/%d/stat", root, kthreadd), buf)
	if err == nil {
		if s, err := parseStat(buf[:n]); err == nil && s.flags&kernelThread != 0 {
			return false, nil
		}
	}
	if _, err := os.Lstat(root + "/stat"); err != nil {
		return false, fmt.Errorf("process: read the process table at %s: %w; mount the machine's /proc there", root, err)
	}
	return false, fmt.Errorf("process: read the process table at %s: %w; no process is described or attributed; "+
		"run with hostPID: true, or, for AMD GPUs, mount the machine's /proc and name it as proc_path", root, errNamespace)
}
