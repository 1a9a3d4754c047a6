// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

func newRunner(b exectest.Box) (*Runner, *direct) {
	d := &direct{boxes: map[string]exectest.Box{"driver-n1": b}}
	r := &Runner{executor: d, tool: command.NvidiaSMI, now: time.Now}
	r.Use(inDriver)
	return r, d
}

var twoCommands = []command.Command{smiCommand("-q", "-x"), smiCommand("-L")}

// say is a tool that prints its arguments.
func say(argv []string, stdout, stderr io.Writer, _ <-chan struct{}) int {
	fmt.Fprintf(stdout, "%s\n", argv)
	fmt.Fprint(stderr, "hm")
	return len(argv)
}

func TestRunner(t *testing.T) {
	r, _ := newRunner(exectest.Commands(say))
	results, err := r.Run(soon(t), twoCommands...)
	require.NoError(t, err)
	assert.Equal(t, []command.Result{
		{Stdout: []byte("[nvidia-smi -q -x]\n"), Stderr: []byte("hm"), ExitCode: 3},
		{Stdout: []byte("[nvidia-smi -L]\n"), Stderr: []byte("hm"), ExitCode: 2},
	}, results)
	_, err = r.Run(soon(t), smiCommand("-q;reboot"))
	require.Error(t, err)
	results, err = r.Run(soon(t))
	require.NoError(t, err)
	assert.Empty(t, results)
}

// Without sh, or without timeout, each command is an exec of its own. That is found out once for each instance of the
// container.
func TestRunnerPlainContainers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		has     []string
		exit    int // instead of a start error
		want    []string
		results bool
	}{
		{
			name: "no sh", has: []string{"timeout", "nvidia-smi"}, results: true,
			want: []string{"sh", "timeout -s KILL 58 nvidia-smi -q -x", "timeout -s KILL 58 nvidia-smi -L", "timeout -s KILL 58 nvidia-smi -q -x"},
		},
		{
			name: "no sh, by exit code", has: []string{"timeout", "nvidia-smi"}, results: true, exit: 127,
			want: []string{"sh", "timeout -s KILL 58 nvidia-smi -q -x", "timeout -s KILL 58 nvidia-smi -L", "timeout -s KILL 58 nvidia-smi -q -x"},
		},
		{
			name: "nothing but the tool", has: []string{"nvidia-smi"}, results: true,
			want: []string{"sh", "timeout -s KILL 58 nvidia-smi -q -x", "nvidia-smi -q -x", "nvidia-smi -L", "nvidia-smi -q -x"},
		},
		{
			name: "nothing but the tool, by exit code", has: []string{"nvidia-smi"}, results: true, exit: 126,
			want: []string{"sh", "timeout -s KILL 58 nvidia-smi -q -x", "nvidia-smi -q -x", "nvidia-smi -L", "nvidia-smi -q -x"},
		},
		{name: "nothing", want: []string{"sh", "timeout -s KILL 58 nvidia-smi -q -x", "nvidia-smi -q -x", "nvidia-smi -q -x"}},
		{name: "nothing, by exit code", exit: 127, want: []string{"sh", "timeout -s KILL 58 nvidia-smi -q -x", "nvidia-smi -q -x", "nvidia-smi -q -x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the limits of the calls are exact
				var calls []string
				r, _ := newRunner(func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
					if argv[0] == "sh" {
						calls = append(calls, "sh")
					} else {
						calls = append(calls, strings.Join(argv, " "))
					}
					if !strings.Contains(strings.Join(tt.has, " "), argv[0]) {
						if tt.exit != 0 {
							fmt.Fprint(stdout, "exec failed")
							return tt.exit, nil
						}
						return 0, &StartError{Message: exectest.NotStarted(argv[0]).Error()}
					}
					return say(argv, stdout, stderr, done), nil
				})
				results, err := r.Run(soon(t), twoCommands...)
				if !tt.results {
					require.ErrorIs(t, err, command.ErrNotFound)
					assert.Empty(t, results)
					assert.Contains(t, err.Error(), inDriver.String())
				} else {
					require.NoError(t, err)
					require.Len(t, results, 2)
					assert.Contains(t, string(results[0].Stdout), "nvidia-smi -q -x]\n")
					assert.NotContains(t, string(results[0].Stdout), "failed")
					assert.Contains(t, string(results[1].Stdout), "nvidia-smi -L]\n")
					assert.Equal(t, "hm", string(results[1].Stderr))
				}
				_, _ = r.Run(soon(t), smiCommand("-q", "-x"))
				assert.Equal(t, tt.want, calls)
				second := inDriver
				second.ID = "second"
				r.Use(second)
				calls = nil
				_, _ = r.Run(soon(t), smiCommand("-q", "-x"))
				assert.Equal(t, "sh", calls[0], "another instance may have one")
			})
		})
	}
}

func TestRunnerWithoutTimeoutInContainer(t *testing.T) {
	var calls []string
	r, _ := newRunner(func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
		calls = append(calls, argv[0])
		if argv[0] == "sh" {
			fmt.Fprintf(stdout, "%s n\n", argv[4])
			return 0, nil
		}
		return say(argv, stdout, stderr, done), nil
	})
	results, err := r.Run(soon(t), twoCommands...)
	require.NoError(t, err)
	assert.Len(t, results, 2)
	assert.Equal(t, []string{"sh", "nvidia-smi", "nvidia-smi"}, calls)
}

func TestRunnerFailures(t *testing.T) {
	script := func(print func(separator string) string, code int, err error) exectest.Box {
		return func(argv []string, stdout, _ io.Writer, _ <-chan struct{}) (int, error) {
			fmt.Fprint(stdout, print(argv[4]))
			return code, err
		}
	}
	for _, tt := range []struct {
		name    string
		box     exectest.Box
		is      error
		want    string
		reason  gpu.FailureReason
		results int
	}{
		{
			name: "the tool is missing", is: command.ErrNotFound, want: "choose the container that contains it",
			box: exectest.Commands(func([]string, io.Writer, io.Writer, <-chan struct{}) int { return 127 }),
		},
		{
			name: "the second command cannot be run", is: command.ErrNotFound, results: 1,
			box: exectest.Commands(func(argv []string, _, _ io.Writer, _ <-chan struct{}) int {
				if argv[1] == "-L" {
					return 126
				}
				return 0
			}),
		},
		{
			name: "the container is stopped", reason: gpu.FailureExec, want: "exit code 137, and 1 of 2 commands did not end", results: 1,
			box: script(func(s string) string { return s + " b\na\n" + s + " 0\nb" }, codeKilled, nil),
		},
		{
			name: "the tool is killed first", reason: gpu.FailureToolFailed, want: "it was killed; its container was stopped, or is out of memory", results: 1,
			box: script(func(s string) string { return s + " b\na\n" + s + " 0\n\n" + s + " 137\n" }, codeKilled, nil),
		},
		{
			name: "the connection ends", want: "broken", results: 1,
			box: script(func(s string) string { return s + " b\na\n" + s + " 0\nb" }, 0, errors.New("broken")),
		},
		{
			name: "the connection ends after all is there", results: 2,
			box: script(func(s string) string { return s + " b\na\n" + s + " 0\nb\n" + s + " 0\n" }, 0, errors.New("broken")),
		},
		{
			name: "more results than commands", reason: gpu.FailureExec, want: "3 results of 2 commands",
			box: script(func(s string) string { return s + " b\na\n" + s + " 0\nb\n" + s + " 0\nc\n" + s + " 0\n" }, 0, nil),
		},
		{name: "not a script's output", reason: gpu.FailureExec, want: "its output is missing", box: script(func(string) string { return "hello\n" }, 1, nil)},
		{name: "unreachable", want: "no route", box: script(func(string) string { return "" }, 0, errors.New("no route"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := newRunner(tt.box)
			results, err := r.Run(soon(t), twoCommands...)
			assert.Len(t, results, tt.results)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
			} else if tt.is == nil {
				require.NoError(t, err)
			}
			if tt.reason != gpu.FailureOther {
				assert.Equal(t, tt.reason, gpu.FailureOf(err).Reason)
			}
			if tt.is == nil {
				for _, other := range []error{command.ErrNotFound, command.ErrTimeout, command.ErrBusy} {
					require.NotErrorIs(t, err, other, "says nothing of the tool")
				}
			}
		})
	}
}

// A kill counts as a timeout by timeout(1) only when the time was over.
func TestRunnerKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, code := range []int{codeKilled, codeTimedOut} {
			for _, late := range []bool{false, true} {
				r, _ := newRunner(exectest.Commands(func([]string, io.Writer, io.Writer, <-chan struct{}) int {
					if late {
						time.Sleep(8 * time.Second)
					}
					return code
				}))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				results, err := r.Run(ctx, smiCommand("-L"))
				cancel()
				if late {
					require.ErrorIs(t, err, command.ErrTimeout)
					continue
				}
				require.NotErrorIs(t, err, command.ErrTimeout)
				if code == codeKilled {
					require.ErrorContains(t, err, "it was killed")
					continue
				}
				require.NoError(t, err)
				assert.Equal(t, codeTimedOut, results[0].ExitCode)
			}
		}
	})
}

// A script with unfinished commands is reported as out of time only if it used up its time. When a driver is replaced, its pod is stopped
// in the middle of a read, and its GPUs must not be reported as hung.
func TestRunnerOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, late := range map[time.Duration]bool{0: false, 6 * time.Second: false, 7 * time.Second: true, 8 * time.Second: true} {
			r, _ := newRunner(func(argv []string, stdout, _ io.Writer, _ <-chan struct{}) (int, error) {
				fmt.Fprintf(stdout, "%s b\na\n%s 0\n", argv[4], argv[4])
				time.Sleep(after)
				return 0, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10900*time.Millisecond) // 8.9 s; the script gets 8
			results, err := r.Run(ctx, twoCommands...)
			cancel()
			assert.Len(t, results, 1)
			if late {
				require.ErrorIs(t, err, command.ErrTimeout)
				require.ErrorContains(t, err, "no time was left for 1 of 2 commands")
				continue
			}
			require.NotErrorIs(t, err, command.ErrTimeout)
			require.ErrorContains(t, err, "exit code 0, and 1 of 2 commands did not end; its container was stopped, or is out of memory")
		}
	})
}

// A started command that survives even a kill hangs in the driver. A single occurrence may be a network fault.
func TestRunnerHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begins := true
		r, _ := newRunner(func(argv []string, stdout, _ io.Writer, done <-chan struct{}) (int, error) {
			if begins {
				fmt.Fprintf(stdout, "%s b\n", argv[4])
			}
			<-done
			return 0, context.DeadlineExceeded
		})
		run := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := r.Run(ctx, smiCommand("-L"))
			return err
		}
		require.NotErrorIs(t, run(), command.ErrTimeout)
		require.ErrorIs(t, run(), command.ErrTimeout)
		require.ErrorIs(t, run(), command.ErrTimeout)
		begins = false
		require.NotErrorIs(t, run(), command.ErrTimeout, "it was not even begun: the API server's or the kubelet's fault")
	})
}

func TestRunnerFlood(t *testing.T) {
	many := strings.Repeat("x", maxStdout/2)
	r, _ := newRunner(exectest.Commands(func(_ []string, stdout, _ io.Writer, _ <-chan struct{}) int {
		_, _ = io.WriteString(stdout, many)
		return 0
	}))
	results, err := r.Run(soon(t), append(twoCommands, smiCommand("-h"))...)
	require.ErrorContains(t, err, "bytes of output")
	assert.Equal(t, gpu.FailureOutput, gpu.FailureOf(err).Reason)
	require.Len(t, results, 2)
	assert.False(t, results[0].Truncated)
	assert.True(t, results[1].Truncated)
	results, err = r.Run(soon(t), twoCommands...)
	require.NoError(t, err)
	assert.True(t, results[1].Truncated, "the last command may be cut")
}
