// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// The log is read from its end, minBuffer bytes at first, and up to maxBuffer while what was read last is not among them.
	minBuffer = 16 << 10
	maxBuffer = 1 << 20
	// known is how many of the last lines are remembered, to find them again.
	known = 4
)

// syslog is the system call syslog(2), which returns the end of the log as text and does not wake up a reader. In a pod it needs CAP_SYSLOG
// and nothing else.
type syslog struct {
	call   func(action int, buffer []byte) (int, error) // klogctl
	buffer []byte
	last   []string // the last lines that were read
}

// openSyslog reads and skips the current content of the log.
func openSyslog(call func(action int, buffer []byte) (int, error)) (*syslog, error) {
	s := &syslog{call: call, buffer: make([]byte, minBuffer)}
	lines, _, err := s.lines()
	if err != nil {
		return nil, err
	}
	s.remember(lines)
	return s, nil
}

func (s *syslog) close() error { return nil }

// read implements source.
func (s *syslog) read(ctx context.Context) ([]Record, error) {
	wait(ctx, pollPeriod)
	if ctx.Err() != nil {
		return nil, nil
	}
	if len(s.buffer) > minBuffer {
		s.buffer = make([]byte, minBuffer)
	}
	for {
		lines, full, err := s.lines()
		if err != nil {
			return nil, err
		}
		if fresh, ok := s.after(lines); ok {
			s.remember(lines)
			return joinLines(fresh), nil
		}
		if !full || len(s.buffer) >= maxBuffer {
			return s.startOver(lines, full)
		}
		s.buffer = make([]byte, min(4*len(s.buffer), maxBuffer))
	}
}

// lines returns the last whole lines of the log that fit into the buffer, and whether they fill it.
func (s *syslog) lines() (lines []string, full bool, err error) {
	n, err := s.call(unix.SYSLOG_ACTION_READ_ALL, s.buffer)
	if err != nil {
		return nil, false, fmt.Errorf("syslog(2): %w", err)
	}
	text := string(s.buffer[:max(0, min(n, len(s.buffer)))])
	full = len(text) >= len(s.buffer)-maxText // the kernel returns whole messages
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil, full, nil
	}
	return strings.Split(text, "\n"), full, nil
}

// after returns the lines after those that are known, and whether these are there.
func (s *syslog) after(lines []string) (fresh []string, ok bool) {
	if len(s.last) == 0 {
		return lines, true // the log was empty
	}
	for i := len(lines); i > 0; i-- {
		if overlap := min(i, len(s.last)); slices.Equal(lines[i-overlap:i], s.last[len(s.last)-overlap:]) {
			return lines[i:], true
		}
	}
	return nil, false
}

func (s *syslog) remember(lines []string) {
	if len(lines) > 0 {
		s.last = slices.Clone(lines[max(0, len(lines)-known):])
	}
}

// startOver goes on when the known lines are gone, because they were overwritten or the log was cleared. Lines with a later stamp are new.
func (s *syslog) startOver(lines []string, full bool) ([]Record, error) {
	records := joinLines(lines)
	if last, err := ParseSyslog(s.last[len(s.last)-1]); err == nil {
		if stamp, ok := last.Stamp.Get(); ok { // without stamps (printk.time=0) all is new
			records = slices.DeleteFunc(records, func(r Record) bool {
				recordStamp, ok := r.Stamp.Get()
				return !ok || recordStamp <= stamp
			})
		}
	}
	s.last = nil
	s.remember(lines)
	if full {
		return records, errOverrun
	}
	return records, nil
}
