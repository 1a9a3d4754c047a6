// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// These tests describe real processes by the machine's own process table.

func TestDescribeSelf(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	node := describe(newReader("", WithAnyNamespace(), WithCommandLine(), WithCgroup()), int64(os.Getpid()))
	require.Empty(t, node.Problems)
	process := node.Processes[0]
	assert.Equal(t, filepath.Base(self), process.Executable)
	assert.Equal(t, os.Args[0], process.Command)
	assert.Contains(t, process.CommandLine, "-test.")
	assert.Equal(t, gpu.Some(int64(os.Geteuid())), process.UserID)
	assert.Equal(t, self, process.Program)
	assert.WithinDuration(t, time.Now(), process.Created, time.Hour)
	assert.Contains(t, process.Cgroup, ":/")
}

// shell is a process that executes a script. Tests send it lines and read its answers.
type shell struct {
	t      *testing.T
	cmd    *exec.Cmd
	input  io.Writer
	output *bufio.Reader
}

func startShell(t *testing.T, script string) *shell {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &shell{t, cmd, input, bufio.NewReader(output)}
}

// startShells starts shells that set their own name to each line (comm of proc_pid_comm(5)).
func startShells(t *testing.T, count int) (all []*shell, pids []int64) {
	t.Helper()
	for range count {
		s := startShell(t, `while read name; do printf %s "$name" >/proc/$$/comm; echo done; done`)
		s.rename("before")
		all, pids = append(all, s), append(pids, s.pid())
	}
	return all, pids
}

func (s *shell) pid() int64 { return int64(s.cmd.Process.Pid) }

func (s *shell) send(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.input, line+"\n")
	require.NoError(s.t, err)
}

func (s *shell) answer() {
	s.t.Helper()
	_, err := s.output.ReadString('\n')
	require.NoError(s.t, err)
}

func (s *shell) rename(name string) {
	s.t.Helper()
	s.send(name)
	s.answer()
}

func (s *shell) kill() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Kill())
	require.Error(s.t, s.cmd.Wait())
}

// A process can change its name without executing another program. Every new name is known at the next read, of one process and of
// many.
func TestNewNameNextRead(t *testing.T) {
	for _, count := range []int{1, 20} {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			r := newReader("", WithAnyNamespace())
			all, pids := startShells(t, count)
			describe(r, pids...)
			for round := range 3 {
				name := "round" + strconv.Itoa(round)
				for _, s := range all {
					s.rename(name)
				}
				describe(r, pids...)
				for _, pid := range pids {
					assert.Equal(t, name, r.known.processes[pid].name)
				}
			}
		})
	}
}

// A process that no source reported for a while can have another name when it is reported again.
func TestNewNameAfterAnAbsence(t *testing.T) {
	r := newReader("", WithAnyNamespace())
	all, pids := startShells(t, 3)
	describe(r, pids...)
	describe(r, pids[1:]...)
	all[0].rename("after")
	describe(r, pids...)
	assert.Equal(t, "after", r.known.processes[pids[0]].name)
}

func TestExecOfALivingProcess(t *testing.T) {
	r := newReader("", WithAnyNamespace())
	s := startShell(t, "echo started; read line; exec sleep 600")
	s.answer()
	command := func() string { return describe(r, s.pid()).Processes[0].Command }
	assert.Equal(t, "sh", command())
	assert.Equal(t, "sh", command())
	s.send("go")
	require.Eventually(t, func() bool { return command() == "sleep" }, time.Minute, 10*time.Millisecond)
}

func TestEndedProcessIsGoneAtTheNextRead(t *testing.T) {
	r := newReader("", WithAnyNamespace())
	all, pids := startShells(t, 16)
	for range 3 {
		describe(r, pids...)
	}
	for i, s := range all {
		s.kill()
		node := describe(r, pids...)
		for j := range node.Processes {
			assert.Equal(t, j <= i, node.Processes[j].Executable == "", "process %d, %d of them ended", j, i+1)
		}
		assert.Len(t, r.known.processes, len(pids)-i-1)
	}
}
