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

// details is what is kept of a process.
type details struct {
	created     time.Time
	executable  string
	command     string
	commandLine string
	owner       string
	cgroup      string
}

// begin sets what the stat file tells alone.
func (d *details) begin(e *entry, boot time.Time) {
	d.created = startTime(boot, e.start)
	d.executable = text([]byte(e.name))
}

// apply completes p.
func (d *details) apply(p *gpu.Process) {
	p.Created = d.created
	p.Executable = d.executable
	p.Command = d.command
	p.CommandLine = d.commandLine
	p.Owner = d.owner
	p.Cgroup = d.cgroup
}

// readDetails reads what else the machine tells of a process. What cannot be read stays absent, often because the process
// has another user. Where another process has the number by now, nothing is kept.
func (r *Reader) readDetails(e *entry, d details) details {
	begun := d
	if r.cgroup {
		if data, err := readBounded(r.path(e.pid, "cgroup"), maxCgroup); err == nil && len(data) < maxCgroup {
			d.cgroup = text(data)
		}
	}
	if data, err := readBounded(r.path(e.pid, "status"), maxStatus); err == nil {
		if uid, ok := effectiveUser(data); ok {
			d.owner = r.accounts.name(uid)
		}
	}
	if target, err := os.Readlink(r.path(e.pid, "exe")); err == nil {
		d.executable = text([]byte(path.Base(strings.TrimSuffix(target, " (deleted)"))))
	}
	if data, err := readBounded(r.path(e.pid, "cmdline"), maxCommandLine); err == nil {
		first, _, _ := bytes.Cut(data, []byte{0})
		d.command = text(first[:min(len(first), maxCommand)])
		if r.commandLine {
			d.commandLine = text(bytes.ReplaceAll(bytes.TrimRight(data, "\x00"), []byte{0}, []byte{' '}))
		}
	}
	// A buffer of its own: a read that comes back late must not write into the one of a later Describe.
	if s, err := r.readStat(e.pid, make([]byte, len(r.buf))); err != nil || s.start != e.start {
		return begun
	}
	return d
}

// effectiveUser reads the second of the four numbers of the line Uid of proc_pid_status(5).
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

// text makes valid UTF-8 of what a process can set to any bytes: OTLP takes nothing else.
func text(b []byte) string {
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
