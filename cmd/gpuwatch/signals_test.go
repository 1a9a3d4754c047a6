// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asGPUWatch makes this program act as gpuwatch, with the files in a folder.
const asGPUWatch = "GPUWATCH_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asGPUWatch); dir != "" {
		err := watch(options{
			binary: filepath.Join(dir, "collector"), config: "none", log: filepath.Join(dir, "log"), otlp: filepath.Join(dir, "otlp.jsonl"),
		})
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The collector is in a process group of its own and does not end with the terminal: gpuwatch has to end it, also when the terminal is
// closed, or when its output is no longer read (gpuwatch | head).
func TestCollectorEndsWithGPUWatch(t *testing.T) {
	// Under nohup this process ignores SIGHUP, and its children would inherit that. A handled signal is reset to the default in children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	for name, end := range map[string]func(*exec.Cmd, *os.File){
		"Ctrl-C":              func(c *exec.Cmd, _ *os.File) { _ = c.Process.Signal(os.Interrupt) },
		"terminated":          func(c *exec.Cmd, _ *os.File) { _ = c.Process.Signal(syscall.SIGTERM) },
		"terminal closed":     func(c *exec.Cmd, _ *os.File) { _ = c.Process.Signal(syscall.SIGHUP) },
		"nobody reads output": func(_ *exec.Cmd, read *os.File) { _ = read.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// The GPUs appear half a second later, so that there is something to print.
			script := "#!/bin/sh\ncd " + dir + "\necho $$ >pid.new; mv pid.new pid\ntrap 'exit 0' INT\n" +
				`while :; do sleep 0.5; echo '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"hw.gpu.count","sum":{"dataPoints":[{"asInt":"0"}]}}]}]}]}' >>otlp.jsonl; done` + "\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "collector"), []byte(script), 0o700))
			read, write, err := os.Pipe()
			require.NoError(t, err)
			t.Cleanup(func() { _ = read.Close() })
			cmd := exec.Command(os.Args[0])
			cmd.Env, cmd.Stdout = append(os.Environ(), asGPUWatch+"="+dir), write
			require.NoError(t, cmd.Start())
			require.NoError(t, write.Close())
			var pid int
			require.Eventually(t, func() bool {
				text, err := os.ReadFile(filepath.Join(dir, "pid"))
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return err == nil
			}, 10*time.Second, 10*time.Millisecond)
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })

			end(cmd, read)
			require.NoError(t, cmd.Wait(), "it ends well")
			assert.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, 5*time.Second, 10*time.Millisecond,
				"the collector has ended")
		})
	}
}
