// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the CPU time of a process, to the nanosecond, from the clock that clock_getcpuclockid(3) names.
func CPUTime(pid int) (time.Duration, error) {
	const processClock = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|processClock), &t); err != nil {
		return 0, fmt.Errorf("the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// Memory returns a process's anonymous resident memory (RssAnon) and all its resident memory (VmRSS), in bytes.
func Memory(pid int) (anonymous, resident int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "RssAnon":
			anonymous, err = kibibytes(value)
		case "VmRSS":
			resident, err = kibibytes(value)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return anonymous, resident, nil
}

// HighestMemory returns the most resident memory that a process has had since its start (VmHWM), in bytes.
func HighestMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return kibibytes(value)
		}
	}
	return 0, fmt.Errorf("/proc/%d/status lacks VmHWM", pid)
}

func kibibytes(value string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	return n << 10, err
}

// Threads returns the number of threads of a process.
func Threads(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return len(entries), err
}

// MachineCPU returns the CPU time of all processes of this machine since it started, including time stolen by the host.
func MachineCPU() (time.Duration, error) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all of Linux
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line)
	var busy int64
	for i, field := range fields {
		// cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are in user already.
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		busy += n
	}
	return time.Duration(busy) * tick, nil
}
