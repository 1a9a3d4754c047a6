// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start starts a program that lives until the test ends or kills it.
func start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// shell is a process that is told what to do, a line at a time, and answers in lines.
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

func (s *shell) pid() int64 { return int64(s.cmd.Process.Pid) }

func (s *shell) tell(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.input, line+"\n")
	require.NoError(s.t, err)
}

func (s *shell) answer() {
	s.t.Helper()
	_, err := s.output.ReadString('\n')
	require.NoError(s.t, err)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

func TestKeptFilesAreClosed(t *testing.T) {
	for name, each := range map[string]int{"with a descriptor of the process": 2, "without": 1} {
		t.Run(name, func(t *testing.T) { testKeptFilesAreClosed(t, each) })
	}
}

// testKeptFilesAreClosed is with so many files kept for each process.
func testKeptFilesAreClosed(t *testing.T, each int) {
	before := openFiles(t)
	r := New("", WithAnyNamespace())
	r.ownNamespace = func() bool { return each == 2 }
	one, other := start(t, "sleep", "600"), start(t, "sleep", "600")
	pids := []int64{int64(one.Process.Pid), int64(other.Process.Pid)}
	started := openFiles(t) - before // what the test itself has open of them
	started += each - 1              // to watch all of them

	for range 3 {
		node := describe(r, pids...)
		assert.NotEmpty(t, node.Processes[0].Executable)
		assert.NotEmpty(t, node.Processes[1].Executable)
		assert.Equal(t, before+started+2*each, openFiles(t), "no more is kept, however often they are described")
	}

	require.NoError(t, one.Process.Kill())
	require.Error(t, one.Wait())
	ended := before + started + each
	node := describe(r, pids...)
	assert.Empty(t, node.Processes[0].Executable, "it is gone")
	assert.NotEmpty(t, node.Processes[1].Executable)
	assert.LessOrEqual(t, openFiles(t), ended)

	r.Close()
	assert.Zero(t, r.open)
	assert.LessOrEqual(t, openFiles(t), ended-2*each)
	node = describe(r, pids...)
	assert.NotEmpty(t, node.Processes[1].Executable, "a closed one still describes")
	assert.Zero(t, r.open, "and keeps nothing open")
}

func TestKeptFileIsOfOneProcess(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	cmd := start(t, "sleep", "600")
	k := r.keep(int64(cmd.Process.Pid))
	require.NotNil(t, k)
	name, alive := k.name(make([]byte, longestName))
	require.True(t, alive)
	assert.Equal(t, "sleep", string(name))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	_, alive = k.name(make([]byte, longestName))
	assert.False(t, alive, "whoever has its number now, the file is of the one that is gone")
	r.release(&entry{kept: k})
}

func TestKeptNoMoreThanMost(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	r.open = maxKept
	assert.Nil(t, r.keep(int64(os.Getpid())))
	node := describe(r, int64(os.Getpid()))
	assert.NotEmpty(t, node.Processes[0].Executable, "described by its stat file")
	r.open = 0
}

func TestDescribeExecOfALivingProcess(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	s := startShell(t, "echo started; read line; exec sleep 600")
	s.answer()
	command := func() string { return describe(r, s.pid()).Processes[0].Command }
	assert.Equal(t, "sh", command())
	assert.Equal(t, "sh", command())
	s.tell("go")
	require.Eventually(t, func() bool { return command() == "sleep" }, 10*time.Second, 10*time.Millisecond)
}
