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
	executable  string
	command     string
	commandLine string
	owner       string
	cgroup      string
}

// begin sets the details that the stat file has.
func (d *details) begin(p *process, boot time.Time) {
	d.created = startTime(boot, p.start)
	d.executable = text([]byte(p.name))
}

// apply sets the details of a process of a node.
func (d *details) apply(p *gpu.Process) {
	p.Created = d.created
	p.Executable = d.executable
	p.Command = d.command
	p.CommandLine = d.commandLine
	p.Owner = d.owner
	p.Cgroup = d.cgroup
}

// readDetails reads the other files of a process. A detail that cannot be read stays empty; often the process belongs to another
// user. If another process has the PID by now, the result is d.
func (r *Reader) readDetails(p *process, d details) details {
	begun := d
	if r.cgroup {
		if data, err := readBounded(r.path(p.pid, "cgroup"), maxCgroup); err == nil && len(data) < maxCgroup {
			d.cgroup = text(data)
		}
	}
	if data, err := readBounded(r.path(p.pid, "status"), maxStatus); err == nil {
		if uid, ok := effectiveUser(data); ok {
			d.owner = r.users.name(uid)
		}
	}
	if target, err := os.Readlink(r.path(p.pid, "exe")); err == nil {
		d.executable = text([]byte(path.Base(strings.TrimSuffix(target, " (deleted)"))))
	}
	if data, err := readBounded(r.path(p.pid, "cmdline"), maxCommandLine); err == nil {
		first, _, _ := bytes.Cut(data, []byte{0})
		d.command = text(first[:min(len(first), maxCommand)])
		if r.commandLine {
			d.commandLine = text(bytes.ReplaceAll(bytes.TrimRight(data, "\x00"), []byte{0}, []byte{' '}))
		}
	}
	if data, err := readBounded(r.path(p.pid, "stat"), maxStat); err == nil {
		if s, err := parseStat(data); err == nil && s.start == p.start {
			return d
		}
	}
	return begun
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

// text returns valid UTF-8. Processes can set their names to any bytes, and OTLP accepts only valid UTF-8.
func text(b []byte) string {
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
