// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	maxCommandLine = 4096
	maxCommand     = 1024
	maxCgroup      = 16384
	maxStatus      = 8192
)

// details is what the files of a process say, except the stat file.
type details struct {
	created     time.Time
	program     string
	executable  string
	command     string
	commandLine string
	userID      gpu.Opt[int64]
	owner       string
	cgroup      string

	unfinished bool // it has a program and no command line yet: the kernel is executing the program
}

// begin sets the details of the stat file: the start in ticks and the command name. A process that has a name keeps it until its program is
// read: a thread can change the command name.
func (d *details) begin(boot time.Time, start uint64, name string) {
	d.created = startTime(boot, start)
	if d.executable == "" {
		d.executable = gpu.CleanText(name)
	}
}

// apply sets the details of a process of a node.
func (d *details) apply(p *gpu.Process) {
	p.Created = d.created
	p.Program = d.program
	p.Executable = d.executable
	p.Command = d.command
	p.CommandLine = d.commandLine
	p.UserID = d.userID
	p.Owner = d.owner
	p.Cgroup = d.cgroup
}

// detailsReader reads the details of processes in the process table at root.
type detailsReader struct {
	root        string
	commandLine bool // read the full command line
	cgroup      bool // read the control groups
	users       *passwd
}

// read reads the other files of the process that has the PID and started at start. A detail that cannot be read stays empty; often
// the process belongs to another user. If another process has the PID by now, the result is d.
func (r *detailsReader) read(pid int64, start uint64, d details) details {
	begun := d
	if r.cgroup {
		if data, err := readBounded(processFile(r.root, pid, "cgroup"), maxCgroup); err == nil && len(data) < maxCgroup {
			d.cgroup = strings.ToValidUTF8(string(data), "\uFFFD") // has lines
		}
	}
	if data, err := readBounded(processFile(r.root, pid, "status"), maxStatus); err == nil {
		if uid, ok := effectiveUser(data); ok {
			d.userID = gpu.Some(int64(uid))
			d.owner = r.users.name(uid)
		}
	}
	if program, ok := readProgram(r.root, pid); ok {
		d.program, d.executable = program, path.Base(program)
	}
	if data, err := readBounded(processFile(r.root, pid, "cmdline"), maxCommandLine); err == nil {
		d.unfinished = len(data) == 0 && d.program != ""
		first, _, _ := bytes.Cut(data, []byte{0})
		d.command = gpu.BoundedText(string(first), maxCommand)
		if r.commandLine {
			d.commandLine = gpu.CleanText(string(bytes.ReplaceAll(bytes.TrimRight(data, "\x00"), []byte{0}, []byte{' '})))
		}
	}
	if data, err := readBounded(processFile(r.root, pid, "stat"), maxStat); err == nil {
		if s, err := parseStat(data); err == nil && s.start == start {
			return d
		}
	}
	return begun
}

// readProgram returns the path of a process's executable file.
func readProgram(root string, pid int64) (string, bool) {
	target, err := os.Readlink(processFile(root, pid, "exe"))
	return gpu.CleanText(strings.TrimSuffix(target, " (deleted)")), err == nil
}

// effectiveUser returns the effective user ID: the second number of the line Uid of proc_pid_status(5).
func effectiveUser(status []byte) (uint32, bool) {
	for line := range bytes.Lines(status) {
		if numbers, ok := bytes.CutPrefix(line, []byte("Uid:")); ok {
			fields := bytes.Fields(numbers)
			if len(fields) < 2 {
				return 0, false
			}
			uid, err := strconv.ParseUint(string(fields[1]), 10, 32)
			if err != nil {
				return 0, false
			}
			return uint32(uid), true
		}
	}
	return 0, false
}
