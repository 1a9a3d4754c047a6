// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package command

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
)

// script returns a Local whose tool is a shell script. A killed one may take long to end: the machine may be busy.
func script(t *testing.T, text string, options ...LocalOption) *Local {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	commandtest.WriteScript(t, path, text)
	l, err := NewLocal(NvidiaSMI, path, options...)
	require.NoError(t, err)
	l.maxGrace, l.killWait = time.Minute, 2*time.Minute
	return l
}

// endsWith returns a context that ends for a reason when a file is there, which a script writes.
func endsWith(t *testing.T, file string, cause error) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(file); err == nil {
				cancel(cause)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return ctx
}

func TestLocalRunsABatchInOrder(t *testing.T) {
	l := script(t, `echo "out $*"; echo "err $1" >&2; exit "$2"`)
	for range 2 {
		results, err := l.Run(t.Context(),
			Command{Tool: NvidiaSMI, Args: []string{"a b", "0"}}, Command{Tool: NvidiaSMI, Args: []string{"c", "9"}})
		require.NoError(t, err, "an exit code is no error")
		require.Len(t, results, 2)
		assert.Equal(t, "out a b 0\n", string(results[0].Stdout))
		assert.Equal(t, "err a b\n", string(results[0].Stderr))
		assert.Equal(t, 0, results[0].ExitCode)
		assert.Equal(t, "out c 9\n", string(results[1].Stdout))
		assert.Equal(t, 9, results[1].ExitCode)
	}
}

func TestLocalFixedSurroundings(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	l := script(t, `/usr/bin/env; cat`, WithEnvironment("EXTRA=1"))
	results, err := l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.NoError(t, err)
	env := strings.Split(strings.TrimSpace(string(results[0].Stdout)), "\n")
	assert.Contains(t, env, "LC_ALL=C")
	assert.Contains(t, env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	assert.Contains(t, env, "NVSMI_SHOW_ALL_DEVICES=1")
	assert.Contains(t, env, "EXTRA=1")
	assert.NotContains(t, string(results[0].Stdout), "hunter2")
}

func TestLocalLibrariesBesideTheTool(t *testing.T) {
	l := script(t, `echo "$LD_LIBRARY_PATH"`)
	l.places = []place{{dir: filepath.Dir(l.path), libraries: "/driver/lib64"}}
	l.path = ""
	results, err := l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.NoError(t, err)
	assert.Equal(t, "/driver/lib64\n", string(results[0].Stdout))
}

func TestLocalHangIsKilledAsAGroup(t *testing.T) {
	pids, ready := filepath.Join(t.TempDir(), "pids"), filepath.Join(t.TempDir(), "ready")
	// A child and its child keep the output open too.
	l := script(t, `echo $$ >`+pids+`
sh -c 'echo $$ >>`+pids+`; sleep 300 & echo $! >>`+pids+`; wait' &
while [ "$(wc -l <`+pids+`)" -lt 3 ]; do :; done
echo half an output
>`+ready+`
wait`)
	results, err := l.Run(endsWith(t, ready, context.DeadlineExceeded), Command{Tool: NvidiaSMI}, Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, ErrTimeout)
	assert.Empty(t, results)

	text, err := os.ReadFile(pids)
	require.NoError(t, err)
	lines := strings.Fields(string(text))
	require.Len(t, lines, 3)
	for _, line := range lines {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		assert.Eventually(t, func() bool { return processEnded(pid) }, time.Minute, 5*time.Millisecond, "process %d still runs", pid)
	}
	_, err = l.Run(t.Context(), Command{Tool: AMDSMI})
	require.NotErrorIs(t, err, ErrBusy, "busy although the process was killed")
}

// processEnded reports whether a process has ended. It may be a zombie until its new parent waits for it.
func processEnded(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestLocalResultsBeforeAHangAreReturned(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	l := script(t, `[ "$1" = hang ] && >`+ready+` && exec sleep 300; echo fine`)
	results, err := l.Run(endsWith(t, ready, context.DeadlineExceeded), Command{Tool: NvidiaSMI}, Command{Tool: NvidiaSMI, Args: []string{"hang"}}, Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, ErrTimeout)
	require.Len(t, results, 1)
	assert.Equal(t, "fine\n", string(results[0].Stdout))
}

func TestLocalCancelEndsARunningTool(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	l := script(t, `>`+ready+`; exec sleep 300`)
	_, err := l.Run(endsWith(t, ready, context.Canceled), Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrTimeout)
}

func TestLocalFloodIsCutOff(t *testing.T) {
	l := script(t, `yes`, WithOutputLimits(1000, 10))
	results, err := l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.NoError(t, err)
	require.Len(t, results, 1)
	assert.True(t, results[0].Truncated)
	assert.Equal(t, strings.Repeat("y\n", 500), string(results[0].Stdout))
	assert.NotZero(t, results[0].ExitCode)
}

// The outputs of one Run are held side by side, so the limit is for all of them.
func TestLocalOutputsOfOneRunAreBounded(t *testing.T) {
	l := script(t, `head -c 2000000 /dev/zero`, WithOutputLimits(5<<19, 10))
	results, err := l.Run(t.Context(), Command{Tool: NvidiaSMI}, Command{Tool: NvidiaSMI}, Command{Tool: NvidiaSMI})
	require.NoError(t, err)
	for i, size := range []int{2_000_000, maxFlood, maxFlood} {
		assert.Len(t, results[i].Stdout, size)
		assert.Equal(t, i > 0, results[i].Truncated)
	}
}

func TestLocalStderrIsBounded(t *testing.T) {
	l := script(t, `echo 0123456789abcdef >&2; echo fine`, WithOutputLimits(1000, 10))
	results, err := l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.NoError(t, err)
	assert.Equal(t, "0123456789", string(results[0].Stderr))
	assert.Equal(t, "fine\n", string(results[0].Stdout))
	assert.False(t, results[0].Truncated)
}

func TestLocalDescendantThatKeepsTheOutputOpen(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	// The pipe does not hold all that is printed, so the tool ends when the beginning was read.
	l := script(t, `sleep 300 & echo $! >`+pidFile+`; echo fine; head -c 100000 /dev/zero; exit 3`)
	l.maxGrace = time.Millisecond
	results, err := l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(results[0].Stdout), "fine\n"))
	assert.Equal(t, 3, results[0].ExitCode)

	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	assert.Eventually(t, func() bool { return processEnded(pid) }, time.Minute, 5*time.Millisecond, "a descendant of the tool still runs")
}

func TestLocalSignalledTool(t *testing.T) {
	l := script(t, `echo half; kill -SEGV $$`)
	results, err := l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.NoError(t, err)
	assert.Equal(t, -1, results[0].ExitCode)
	assert.Equal(t, "half\n", string(results[0].Stdout))
}

func TestLocalNotExecutable(t *testing.T) {
	l := script(t, "")
	require.NoError(t, os.Chmod(l.path, 0o600))
	_, err := l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "is not executable")

	// A file of the right name and mode that the kernel cannot execute.
	require.NoError(t, os.WriteFile(l.path, []byte("\x7fELF garbage"), 0o600))
	require.NoError(t, os.Chmod(l.path, 0o700))
	_, err = l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "exec format error")
}
