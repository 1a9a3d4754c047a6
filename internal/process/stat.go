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

const (
	// ticksPerSecond is USER_HZ, the unit of times in the process table. It is 100 on all platforms of the receiver.
	ticksPerSecond = 100
	// maxStat is more than a stat file is long.
	maxStat = 2048
)

// kernelThread is the flag PF_KTHREAD of include/linux/sched.h. No program can set it.
const kernelThread = 0x00200000

var errStat = errors.New("unexpected format, see proc_pid_stat(5)")

// stat is the part of /proc/<pid>/stat that the receiver uses.
type stat struct {
	name  []byte // the command name, at most 15 bytes
	flags uint64
	start uint64 // in clock ticks since boot
}

// parseStat parses a stat file. The name is in parentheses and ends at the last one: it may contain parentheses and spaces.
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

// startTime returns the time that is so many ticks after boot, or the zero time if that is not a start time.
func startTime(boot time.Time, ticks uint64) time.Time {
	// No machine is that old.
	if boot.IsZero() || ticks > ticksPerSecond*3600*24*366*100 {
		return time.Time{}
	}
	return boot.Add(time.Duration(ticks) * (time.Second / ticksPerSecond))
}

// bootKeep is how long the boot time is kept. It moves when the clock is set. The file is long on machines with many processors.
const bootKeep = 10 * time.Minute

// bootTime is the time when the machine was started.
type bootTime struct {
	last     time.Time
	readTime time.Time // when last was read
}

// get returns the time when the machine was started (btime of proc_stat(5)), or the zero time if it cannot be read.
func (b *bootTime) get(root string, now time.Time) time.Time {
	if !b.last.IsZero() && now.Sub(b.readTime) < bootKeep {
		return b.last
	}
	data, err := readBounded(root+"/stat", 1<<20)
	if err != nil {
		return b.last
	}
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			seconds, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err == nil && seconds > 0 {
				b.last, b.readTime = time.Unix(seconds, 0), now
			}
			break
		}
	}
	return b.last
}
