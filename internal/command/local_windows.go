// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// driverLog is the log to which the driver reports what happens to a GPU.
const driverLog = "the System log in the Event Viewer"

func executable(tool Tool) string { return string(tool) + ".exe" }

func sameName(a, b string) bool { return strings.EqualFold(a, b) }

func mayExecute(fs.FileMode) bool { return true }

// environment returns the variables that every tool gets in addition. Without SystemRoot, Windows programs cannot load the
// system's libraries.
func environment() []string {
	return []string{"SystemRoot=" + systemRoot(), "PATH=" + filepath.Join(systemRoot(), "System32")}
}

// places returns the places of nvidia-smi: System32 since driver 445, the NVSMI directory before. The other tools do not exist for Windows.
func places(tool Tool) []place {
	if tool != NvidiaSMI {
		return nil
	}
	return []place{
		{dir: filepath.Join(systemRoot(), "System32")},
		{dir: `C:\Program Files\NVIDIA Corporation\NVSMI`},
	}
}

func systemRoot() string {
	if root := os.Getenv("SystemRoot"); filepath.IsAbs(root) {
		return root
	}
	return `C:\Windows`
}

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills the process. Windows has no call that kills a process group. The tools start no other process there.
func killGroup(p *os.Process) error { return p.Kill() }
