// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package command

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// driverLog is the log to which the driver reports what happens to a GPU.
const driverLog = "the kernel log"

func executable(tool Tool) string { return string(tool) }

func sameName(a, b string) bool { return a == b }

func mayExecute(mode fs.FileMode) bool { return mode.Perm()&0o111 != 0 }

// environment returns the variables that every tool gets in addition: the directories of the system's programs.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process and all its descendants that have not left its group.
func killGroup(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
