// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// tenSeconds is the context of one read.
func tenSeconds(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// plain is a container that has these programs but no sh.
func plain(run func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) int, programs ...string) exectest.Box {
	return func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
		if !strings.Contains(strings.Join(programs, " "), argv[0]) {
			return 0, &StartError{Message: exectest.NotStarted(argv[0]).Error()}
		}
		return run(argv, stdout, stderr, done), nil
	}
}

// everyContainer runs a test with a tool in containers with sh and timeout, without sh, and with neither.
func everyContainer(t *testing.T, run func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) int, test func(t *testing.T, b exectest.Box)) {
	t.Helper()
	for name, b := range map[string]exectest.Box{
		"sh": exectest.Commands(run), "timeout": plain(run, "timeout", "nvidia-smi"), "the tool alone": plain(run, "nvidia-smi"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, b) })
		})
	}
}

// A signal that ends the tool, such as a crash or an out-of-memory kill, leaves partial output in every kind of container. nvidia-smi
// itself exits with 255, also after it has listed all GPUs except a lost one.
func TestRunnerSignalled(t *testing.T) {
	for code, want := range map[int]int{0: 0, 18: 18, 128: 128, 128 + 6: -1, codeKilled: -1, 128 + 64: -1, 255: 255} {
		half := func(_ []string, stdout, _ io.Writer, _ <-chan struct{}) int {
			fmt.Fprint(stdout, "GPU 0\n")
			return code
		}
		everyContainer(t, half, func(t *testing.T, b exectest.Box) {
			r, _ := newRunner(b)
			results, err := r.Run(tenSeconds(t), smiCommand("-L"))
			require.NoError(t, err)
			require.Len(t, results, 1)
			assert.Equal(t, want, results[0].ExitCode)
			_, whole := results[0].Lines()
			assert.Equal(t, want >= 0, whole)
		})
	}
}

// A kill counts as a timeout by timeout(1) only when the time was over.
func TestRunnerKilledLate(t *testing.T) {
	for _, code := range []int{codeKilled, codeTimedOut} {
		late := func([]string, io.Writer, io.Writer, <-chan struct{}) int {
			time.Sleep(7 * time.Second)
			return code
		}
		everyContainer(t, late, func(t *testing.T, b exectest.Box) {
			r, _ := newRunner(b)
			_, err := r.Run(tenSeconds(t), smiCommand("-L"))
			require.ErrorIs(t, err, command.ErrTimeout)
			require.ErrorContains(t, err, "a GPU or the driver may hang")
		})
	}
}

// A tool that survives a kill is reported when this happens twice in a row.
func TestRunnerHungOnceMore(t *testing.T) {
	tool := func([]string, io.Writer, io.Writer, <-chan struct{}) int { return 0 }
	everyContainer(t, tool, func(t *testing.T, b exectest.Box) {
		hangs := false
		r, _ := newRunner(func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
			var none strings.Builder
			if code, err := b(argv, &none, stderr, done); !hangs || err != nil {
				_, _ = io.WriteString(stdout, none.String())
				return code, err
			}
			if argv[0] == "sh" {
				fmt.Fprintf(stdout, "%s b\n", argv[4])
			}
			<-done
			return 0, nil
		})
		run := func(hang bool) error {
			hangs = hang
			_, err := r.Run(tenSeconds(t), smiCommand("-L"))
			return err
		}
		for range 3 {
			err := run(true)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, command.ErrTimeout)
			require.NoError(t, run(false))
		}
		require.NotErrorIs(t, run(true), command.ErrTimeout)
		require.ErrorIs(t, run(true), command.ErrTimeout)
	})
}

// The properties found for a container are not probed again.
func TestRunnerRemembersWhatIsMissing(t *testing.T) {
	var calls []string
	r, _ := newRunner(func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
		calls = append(calls, argv[0])
		if argv[0] == "sh" {
			fmt.Fprintf(stdout, "%s n\n", argv[4])
			return 0, nil
		}
		return say(argv, stdout, stderr, done), nil
	})
	for range 2 {
		results, err := r.Run(soon(t), smiCommand("-L"))
		require.NoError(t, err)
		assert.Equal(t, "[nvidia-smi -L]\n", string(results[0].Stdout))
	}
	assert.Equal(t, []string{"sh", "nvidia-smi", "nvidia-smi"}, calls)
}

// Excessive output ends the read of a container without sh, too.
func TestRunnerPlainFlood(t *testing.T) {
	many := strings.Repeat("x", maxStdout/2+1)
	r, _ := newRunner(plain(func(_ []string, stdout, _ io.Writer, _ <-chan struct{}) int {
		_, _ = io.WriteString(stdout, many)
		return 0
	}, "nvidia-smi"))
	results, err := r.Run(soon(t), append(twoCommands, smiCommand("-h"))...)
	require.ErrorContains(t, err, "bytes of output")
	require.Len(t, results, 2)
	assert.Len(t, results[0].Stdout, len(many))
	assert.True(t, results[1].Truncated)
}
