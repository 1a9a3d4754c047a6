// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ticksPerSecond is USER_HZ, in which the kernel tells times to programs; it is 100 wherever the receiver runs.
const ticksPerSecond = 100

// kernelThread is the flag PF_KTHREAD of include/linux/sched.h. No program can set it.
const kernelThread = 0x00200000

var errStat = errors.New("not in the format of proc_pid_stat(5)")

// stat is what is needed of /proc/<pid>/stat.
type stat struct {
	name  []byte // the command name, at most 15 bytes; valid until the next read
	flags uint64
	start uint64 // in clock ticks since boot
}

// parseStat reads a stat file. The name stands in parentheses and may hold anything, parentheses and spaces too, so it
// ends at the last one.
func parseStat(data []byte) (stat, error) {
	var s stat
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return s, errStat
	}
	s.name = data[open+1 : end]
	rest := data[end+1:]
	// proc_pid_stat(5) numbers the fields from 1; the name is the second.
	for field := 3; ; field++ {
		rest = bytes.TrimLeft(rest, " \n")
		if len(rest) == 0 {
			return s, errStat
		}
		word := rest
		if i := bytes.IndexAny(rest, " \n"); i >= 0 {
			word = rest[:i]
		}
		rest = rest[len(word):]
		var err error
		switch field {
		case 9:
			s.flags, err = strconv.ParseUint(string(word), 10, 64)
		case 22:
			s.start, err = strconv.ParseUint(string(word), 10, 64)
		}
		if err != nil {
			return s, fmt.Errorf("%w: field %d: %w", errStat, field, err)
		}
		if field == 22 {
			return s, nil
		}
	}
}

// readStat reads a process's stat file into buf.
func (r *Reader) readStat(pid int64, buf []byte) (stat, error) {
	n, err := readFile(r.path(pid, "stat"), buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(buf[:n])
}

func (r *Reader) path(pid int64, file string) string {
	return r.root + "/" + strconv.FormatInt(pid, 10) + "/" + file
}

// startTime tells when a process was started that started so many ticks after boot.
func startTime(boot time.Time, ticks uint64) time.Time {
	// More than the age of any machine: not a start time.
	if boot.IsZero() || ticks > ticksPerSecond*3600*24*366*100 {
		return time.Time{}
	}
	return boot.Add(time.Duration(ticks) * (time.Second / ticksPerSecond))
}

// bootKeep is how long the boot time is taken as read: a clock that is set moves it, and the file is long on a machine
// with many processors.
const bootKeep = 10 * time.Minute

// bootTime reads when the machine was started (btime of proc_stat(5)); zero if it cannot be read.
func (r *Reader) bootTime(now time.Time) time.Time {
	if !r.boot.IsZero() && now.Sub(r.bootRead) < bootKeep {
		return r.boot
	}
	data, err := readBounded(r.root+"/stat", 1<<20)
	if err != nil {
		return r.boot
	}
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			seconds, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err == nil && seconds > 0 {
				r.boot, r.bootRead = time.Unix(seconds, 0), now
			}
			break
		}
	}
	return r.boot
}
