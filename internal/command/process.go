// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"slices"
	"time"
)

// maxGrace is how long before a deadline a process is killed, and how long its output may stay open after its end.
const maxGrace = 500 * time.Millisecond

// spec is what a process is started with.
type spec struct {
	path   string
	args   []string
	env    []string
	output *output
	grace  time.Duration // how long a descendant may keep the output open after the process has ended
}

// process is a started tool. wait returns when the process has ended and its output is complete. exitCode is valid after that.
type process interface {
	wait() error
	exitCode() int
	pid() int
}

// startProcess starts a process in a group of its own, which is killed when the context ends.
func startProcess(ctx context.Context, s spec) (process, error) {
	cmd := exec.CommandContext(ctx, s.path, s.args...) //nolint:gosec // a fixed name from fixed places, constant arguments
	mark := newMark()
	cmd.Env = append(slices.Clip(s.env), mark)
	cmd.Stdout = &s.output.stdout
	cmd.Stderr = &s.output.stderr
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = s.grace
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return osProcess{cmd, mark, startTicks(cmd.Process.Pid)}, nil
}

// newMark returns an environment variable that no other process has, by which the descendants of a tool are found.
func newMark() string { return "GPURECEIVER_CALL=" + rand.Text() }

type osProcess struct {
	cmd     *exec.Cmd
	mark    string
	started uint64 // as startTicks returns it
}

// wait returns an error only if the context or a signal ended the process. It kills what the tool left behind, which may keep the output
// open and would accumulate. The number of the group is free by then, but the kernel assigns numbers in a circle, so no other process can
// have it so soon.
func (p osProcess) wait() error {
	err := p.cmd.Wait()
	_ = killGroup(p.cmd.Process)
	killMarked(p.mark, p.started)
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrWaitDelay) || errors.As(err, &exit) && exit.Exited() {
		return nil
	}
	return err
}

func (p osProcess) exitCode() int { return p.cmd.ProcessState.ExitCode() }
func (p osProcess) pid() int      { return p.cmd.Process.Pid }
