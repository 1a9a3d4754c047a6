// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// inNode are the options that start a program in the node: with its files, and on the machine's network. Its process table is the
// machine's.
func (w *world) inNode(program ...string) harness.Options {
	args := []string{"--target", strconv.Itoa(w.init), "--mount", "--"}
	return harness.Options{Binary: "nsenter", Args: append(args, program...), Dir: w.dir}
}

// running is a container's first process.
type running struct {
	pid int
	env map[string]string
}

// find finds a container's first process by the environment that the test gave it, not by the control groups or other data that the
// collector uses. It returns false if the process does not run.
func find(pod, container string) (running, bool) {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	for _, directory := range directories {
		text, err := os.ReadFile(filepath.Join(directory, "environ"))
		if err != nil || !bytes.Contains(text, []byte(envPod+"="+pod+"\x00")) ||
			!bytes.Contains(text, []byte(envContainer+"="+container+"\x00")) {
			continue
		}
		r := running{env: map[string]string{}}
		r.pid, _ = strconv.Atoi(filepath.Base(directory))
		for pair := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			r.env[name] = value
		}
		return r, first(directory)
	}
	return running{}, false
}

// first reports whether a process is the first of a PID namespace below the machine's. The program that starts a container has the
// container's environment for a moment, too.
func first(directory string) bool {
	status, err := os.ReadFile(filepath.Join(directory, "status"))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(status) {
		if numbers, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			fields := bytes.Fields(numbers)
			return len(fields) > 1 && string(fields[len(fields)-1]) == "1"
		}
	}
	return false
}

// process is a container's first process, once it runs.
func process(t *testing.T, pod, container string) running {
	t.Helper()
	var result running
	eventually(t, "a process in "+pod+"/"+container, func() bool {
		var ok bool
		result, ok = find(pod, container)
		return ok
	})
	return result
}

// devices returns the devices that the device plugin has allocated to a container, from the environment of its process.
func devices(t *testing.T, pod, container string) []string {
	t.Helper()
	text := process(t, pod, container).env["NVIDIA_VISIBLE_DEVICES"]
	require.NotEmpty(t, text, "%s/%s was given no device", pod, container)
	var all []string
	for id := range strings.SplitSeq(text, ",") {
		if len(all) == 0 || all[len(all)-1] != id {
			all = append(all, id)
		}
	}
	return all
}

// eventually waits until a condition holds.
func eventually(t *testing.T, subject string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(50 * time.Millisecond) {
		require.Less(t, time.Since(start), patience, subject)
	}
}
