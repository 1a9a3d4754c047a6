// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// startTicks returns when a process was started, in ticks since boot: field 22 of /proc/<pid>/stat. It is 0 if the start is unknown.
func startTicks(pid int) uint64 {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from the third on; the name before may contain anything
	const start = 22 - 3
	if len(fields) <= start {
		return 0
	}
	ticks, _ := strconv.ParseUint(string(fields[start]), 10, 64)
	return ticks
}

// killMarked kills the descendants of a tool that have left its process group, and so its session. They have the mark in their
// environment. Only processes that are not older than the tool are looked at.
func killMarked(mark string, since uint64) {
	proc, err := os.Open("/proc")
	if err != nil || since == 0 {
		return
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() || startTicks(pid) < since {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ") //nolint:gosec // a process of the process table
		if err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
