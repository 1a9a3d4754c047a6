// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxPID is above any process id of Linux, which are at most 2²², and of Windows.
const maxPID = 1 << 32

// processType reads the letters of the type column: C, G, C+G, and M+C for a client of the MPS server.
func processType(printed []byte) gpu.ProcessType {
	var compute, graphics, mps bool
	for _, c := range bytes.TrimSpace(printed) {
		switch c {
		case 'C':
			compute = true
		case 'G':
			graphics = true
		case 'M':
			mps = true
		case '+':
		default:
			return gpu.ProcessUnknown
		}
	}
	switch {
	case mps:
		return gpu.ProcessMPS
	case compute && graphics:
		return gpu.ProcessComputeGraphics
	case compute:
		return gpu.ProcessCompute
	case graphics:
		return gpu.ProcessGraphics
	}
	return gpu.ProcessUnknown
}

func processID(printed []byte) (pid int64, ok bool) {
	pid, ok = integer(printed, unitCount)
	return pid, ok && pid > 0 && pid < maxPID
}

// processName reads a process's name. It returns "" for a reason instead of a name, as printed in a container that may not read /proc.
func processName(printed []byte) string {
	name, _ := freeText(printed)
	return name
}

// Executable splits a process's printed name into the executable's name and the command without its arguments. The tool
// prints the zeroth argument, which a process may have overwritten with its whole command line. Arguments may hold secrets
// and are dropped. A Windows path contains spaces and is printed without arguments.
func Executable(name string) (executable, command string) {
	if i := strings.LastIndexByte(name, '\\'); i >= 0 {
		return name[i+1:], name
	}
	command, _, _ = strings.Cut(name, " -")
	if space, slash := strings.IndexByte(command, ' '), strings.IndexByte(command, '/'); space >= 0 && slash > space {
		command = command[:space] // python3 /srv/train.py
	}
	command = strings.TrimSpace(command)
	return command[strings.LastIndexByte(command, '/')+1:], command
}
