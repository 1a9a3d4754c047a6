// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// The bounds of one call, unless an option sets others.
const (
	defaultStdoutLimit = 8 << 20 // ten times what a node with 16 GPUs, all MIG instances and a thousand processes prints
	defaultStderrLimit = 64 << 10
	defaultTimeout     = time.Minute // if the context has no deadline
)

// defaultKillWait is how long Run waits for a killed process, also beyond the context's deadline. It is longer than maxGrace, for which the
// output of a killed process may stay open, and does not depend on the time that is left: otherwise a process that a busy machine ends
// late would be reported as one that no kill ends.
const defaultKillWait = 2 * time.Second

// Local is a Runner of one tool on this machine. The executable has the tool's name and is in one of the fixed places, or at the configured
// absolute path. It runs in a process group of its own, which is killed as a whole at the deadline, with a fixed environment and no input.
//
// At most one process exists at a time. While a process hangs in the kernel and cannot be killed, Run returns ErrBusy immediately.
type Local struct {
	tool        Tool
	path        string // configured; empty if the tool is searched in places
	places      []place
	env         []string
	stdoutLimit int
	stderrLimit int
	maxGrace    time.Duration // how long before the deadline a process is killed, at most
	killWait    time.Duration // how long a killed process may take to end
	now         func() time.Time
	start       func(ctx context.Context, s spec) (process, error)

	mu    sync.Mutex
	since time.Time // when the running process was started; zero if none is running
}

// LocalOption changes a bound or the environment of a Local.
type LocalOption func(*Local)

// WithOutputLimits bounds what is kept of a tool's output, in bytes: the output of all commands of a Run together, and the errors of each
// command. The defaults are 8 MiB and 64 KiB.
func WithOutputLimits(stdout, stderr int) LocalOption {
	return func(l *Local) { l.stdoutLimit, l.stderrLimit = stdout, stderr }
}

// WithEnvironment adds NAME=value pairs to the fixed environment, such as the path of a simulated driver library.
func WithEnvironment(pairs ...string) LocalOption {
	return func(l *Local) { l.env = append(l.env, pairs...) }
}

// NewLocal returns a Runner of the tool on this machine. With an empty path every Run searches the fixed places, as drivers come
// and go. Any other path must satisfy ValidatePath.
func NewLocal(tool Tool, path string, options ...LocalOption) (*Local, error) {
	if err := ValidatePath(tool, path); err != nil {
		return nil, err
	}
	l := &Local{
		tool:        tool,
		path:        path,
		places:      places(tool),
		env:         append(tool.Environment(), environment()...),
		stdoutLimit: defaultStdoutLimit,
		stderrLimit: defaultStderrLimit,
		maxGrace:    maxGrace,
		killWait:    defaultKillWait,
		now:         time.Now,
		start:       startProcess,
	}
	for _, o := range options {
		o(l)
	}
	return l, nil
}

var _ Runner = (*Local)(nil)

// Run implements Runner. It kills a process before the context's deadline, and returns at most killWait later, even if the process cannot
// be killed.
func (l *Local) Run(ctx context.Context, commands ...Command) ([]Result, error) {
	if since, ok := l.acquire(); !ok {
		return nil, fmt.Errorf("%s: %w since %s; a process that cannot be killed hangs in the driver: see %s",
			l.tool, ErrBusy, since.Format(time.RFC3339), driverLog)
	}
	var results []Result
	room := l.stdoutLimit // for all commands together: the caller holds the outputs side by side
	for _, c := range commands {
		result, stuck, err := l.run(ctx, c, room)
		if stuck {
			return results, err // the goroutine that waits for the process releases the Local
		}
		if err != nil {
			l.release()
			return results, err
		}
		results = append(results, result)
		room = max(room-len(result.Stdout), min(l.stdoutLimit, maxFlood))
	}
	l.release()
	return results, nil
}

// run runs one command that may print so many bytes. If stuck is true the process still exists, and the Local is released when it ends.
func (l *Local) run(ctx context.Context, c Command, room int) (result Result, stuck bool, err error) {
	if c.Tool != l.tool {
		return Result{}, false, fmt.Errorf("%s: asked to run %q", l.tool, c.Tool)
	}
	if err = ctx.Err(); err != nil {
		return Result{}, false, l.aborted(err, "not started: the calls before it took the whole time; "+raiseTimeout)
	}
	path, libraries, err := find(l.tool, l.path, l.places)
	if err != nil {
		return Result{}, false, err
	}
	env := l.env
	if libraries != "" {
		env = append([]string{"LD_LIBRARY_PATH=" + libraries}, env...) // the value of an option comes later and wins
	}

	limited, stop := limit(ctx, l.maxGrace)
	defer stop()
	bounded, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	out := newOutput(room, l.stderrLimit, func() { cancel(errOutputLimit) })

	p, err := l.start(bounded, spec{path: path, args: c.Args, env: env, output: out, grace: l.maxGrace})
	if err != nil {
		return Result{}, false, startError(path, err)
	}
	exited := make(chan error)
	abandoned := make(chan struct{})
	go func() {
		waited := p.wait()
		select {
		case exited <- waited:
		case <-abandoned:
			l.release()
		}
	}()
	select {
	case err = <-exited:
	case <-bounded.Done():
		timer := time.NewTimer(l.killWait)
		defer timer.Stop()
		select {
		case err = <-exited:
		case <-timer.C:
			close(abandoned)
			return Result{}, true, l.aborted(context.Cause(bounded),
				fmt.Sprintf("process %d was killed and still exists %s later, hanging in the driver: see %s", p.pid(), l.killWait, driverLog))
		}
	}

	cause := context.Cause(bounded)
	switch {
	case cause == nil || err == nil, errors.Is(cause, errOutputLimit):
		return out.result(p.exitCode()), false, nil
	default:
		return Result{}, false, l.aborted(cause, "killed: "+raiseTimeout+"; if it never ends, a GPU or the driver hangs: see "+driverLog)
	}
}

// raiseTimeout is what to do about a tool that works and does not end in time.
const raiseTimeout = "timeout or collection_interval is too short for this tool, so set longer ones"

// aborted returns the error of a command that has no result because of the context. outcome is what happened to it at the deadline.
func (l *Local) aborted(cause error, outcome string) error {
	if errors.Is(cause, context.Canceled) {
		return fmt.Errorf("%s: %w", l.tool, cause)
	}
	return fmt.Errorf("%s: %w: %s", l.tool, ErrTimeout, outcome)
}

func (l *Local) acquire() (since time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.since.IsZero() {
		return l.since, false
	}
	l.since = l.now()
	return l.since, true
}

func (l *Local) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Time{}
}

// shortages are reasons why a process is not started that say nothing about the tool.
var shortages = [...]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM}

// startError returns the error of a process that was not started.
func startError(path string, err error) error {
	for _, short := range shortages {
		if errors.Is(err, short) {
			return fmt.Errorf("%w: %s: start: %w; the collector is not allowed to open another file or start another process: raise the limit "+
				"(LimitNOFILE= and TasksMax= of a systemd unit, the pids limit of a container), or find out what uses so many", ErrShortage, path, err)
		}
	}
	return fmt.Errorf("%w: %s: start: %w", ErrNotFound, path, err)
}

// limit sets the end of a process before the context's deadline, so that there is time to kill it and to read the rest of its output.
func limit(ctx context.Context, maxGrace time.Duration) (limited context.Context, stop context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithTimeout(ctx, defaultTimeout)
	}
	grace := min(maxGrace, max(0, time.Until(deadline)/8))
	return context.WithDeadline(ctx, deadline.Add(-grace))
}
