// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"os/exec"
)

// startProcess starts a process in a group of its own, which is killed when the context ends.
func startProcess(ctx context.Context, s spec) (process, error) {
	cmd := exec.CommandContext(ctx, s.path, s.args...) //nolint:gosec // a fixed name from fixed places, constant arguments
	cmd.Env = s.env
	cmd.Stdout = &s.output.stdout
	cmd.Stderr = &s.output.stderr
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = maxGrace // for a descendant that keeps the output open
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return osProcess{cmd}, nil
}

type osProcess struct{ cmd *exec.Cmd }

// wait returns an error only where the context or a signal ended the process. What the tool left behind is killed: it may
// hold the output open, and would pile up. Its group's number is free for others from now on, yet the kernel gives numbers
// out in a circle, so that no other process can have it at once.
func (p osProcess) wait() error {
	err := p.cmd.Wait()
	_ = killGroup(p.cmd.Process)
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrWaitDelay) || errors.As(err, &exit) && exit.Exited() {
		return nil
	}
	return err
}

func (p osProcess) exitCode() int { return p.cmd.ProcessState.ExitCode() }
func (p osProcess) pid() int      { return p.cmd.Process.Pid }
