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

// The bounds of one call, unless an option says otherwise.
const (
	defaultStdoutLimit = 64 << 20
	defaultStderrLimit = 64 << 10
	defaultTimeout     = time.Minute // where the context has no deadline
	maxGrace           = 500 * time.Millisecond
)

// Local runs one tool on this machine. The executable has the tool's name and lies in one of the fixed places, or at the
// absolute path that was configured. It runs in a process group of its own, which is killed as a whole at the deadline,
// with a fixed environment and no input.
//
// At most one process exists at a time. A process that a kill does not end, because it hangs in the kernel, keeps the
// Local busy: Run returns ErrBusy at once until the kernel lets go of it.
type Local struct {
	tool        Tool
	path        string // configured; empty: look in places
	places      []place
	env         []string
	stdoutLimit int
	stderrLimit int
	now         func() time.Time
	start       func(ctx context.Context, s spec) (process, error)

	outputs []*output // kept between runs, one for each command of a batch

	mu    sync.Mutex
	since time.Time // when the process that is running was started; zero when there is none
}

// place is a directory in which a tool may lie, and where the libraries are that it needs when it lies there.
type place struct {
	dir       string
	libraries string // LD_LIBRARY_PATH; empty: the system's own
}

// spec is what a process is started with.
type spec struct {
	path   string
	args   []string
	env    []string
	output *output
}

// process is a started tool. Wait returns when it is gone and its output complete; exitCode is valid after that.
type process interface {
	wait() error
	exitCode() int
	pid() int
}

// LocalOption changes a bound or the surroundings of a Local.
type LocalOption func(*Local)

// WithOutputLimits bounds what is kept of a tool's output, in bytes. Defaults: 64 MiB and 64 KiB.
func WithOutputLimits(stdout, stderr int) LocalOption {
	return func(l *Local) { l.stdoutLimit, l.stderrLimit = stdout, stderr }
}

// WithEnvironment adds NAME=value pairs to the fixed environment; a simulated driver library is put before a real tool in
// this way.
func WithEnvironment(pairs ...string) LocalOption {
	return func(l *Local) { l.env = append(l.env, pairs...) }
}

// NewLocal returns a Runner for the tool on this machine. An empty path looks in the fixed places, anew at every Run, as
// drivers come and go. Any other must satisfy ValidatePath.
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
		now:         time.Now,
		start:       startProcess,
	}
	for _, o := range options {
		o(l)
	}
	return l, nil
}

var _ Runner = (*Local)(nil)

// Run implements Runner. It returns before the context's deadline, also where the process cannot be killed.
func (l *Local) Run(ctx context.Context, commands ...Command) ([]Result, error) {
	if since, ok := l.acquire(); !ok {
		return nil, fmt.Errorf("%s: %w since %s; a process that no kill ends hangs in the driver: see the kernel's log",
			l.tool, ErrBusy, since.Format(time.RFC3339))
	}
	results := make([]Result, 0, len(commands))
	for i, c := range commands {
		result, stuck, err := l.run(ctx, i, c)
		if stuck {
			return results, err // what waits for the process releases it
		}
		if err != nil {
			l.release()
			return results, err
		}
		results = append(results, result)
	}
	l.release()
	return results, nil
}

// run runs one command. Where stuck is true the process is still there, and its end releases the Local.
func (l *Local) run(ctx context.Context, i int, c Command) (result Result, stuck bool, err error) {
	if c.Tool != l.tool {
		return Result{}, false, fmt.Errorf("%s: asked to run %q", l.tool, c.Tool)
	}
	if err = ctx.Err(); err != nil {
		return Result{}, false, l.ended(err, "not started")
	}
	path, libraries, err := l.find()
	if err != nil {
		return Result{}, false, err
	}
	env := l.env
	if libraries != "" {
		env = append([]string{"LD_LIBRARY_PATH=" + libraries}, env...) // an option's value, coming later, wins
	}

	limited, grace, stop := limit(ctx)
	defer stop()
	bounded, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	out := l.output(i, func() { cancel(errOutputLimit) })

	p, err := l.start(bounded, spec{path: path, args: c.Args, env: env, output: out})
	if err != nil {
		return Result{}, false, notStarted(path, err)
	}
	gone := make(chan error)
	abandoned := make(chan struct{})
	go func() {
		waited := p.wait()
		select {
		case gone <- waited:
		case <-abandoned:
			l.release()
		}
	}()
	select {
	case err = <-gone:
	case <-bounded.Done():
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case err = <-gone:
		case <-timer.C:
			l.outputs = nil // the process may still write there
			close(abandoned)
			return Result{}, true, l.ended(context.Cause(bounded),
				fmt.Sprintf("process %d was killed and is still there, hanging in the driver: see the kernel's log", p.pid()))
		}
	}

	cause := context.Cause(bounded)
	switch {
	case cause == nil || err == nil, errors.Is(cause, errOutputLimit):
		return out.result(p.exitCode()), false, nil
	default:
		return Result{}, false, l.ended(cause, "killed; a GPU or the driver may hang: see the kernel's log")
	}
}

// shortages are why a process is not started that says nothing of the tool, and less of a GPU.
var shortages = [...]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM}

// notStarted words why a process was not started.
func notStarted(path string, err error) error {
	for _, short := range shortages {
		if errors.Is(err, short) {
			return fmt.Errorf("%s: start: %w; the collector may open no further file, or start no further process: raise the limit "+
				"(LimitNOFILE= and TasksMax= of a systemd unit, the container's pids), or find out what holds so many", path, err)
		}
	}
	return fmt.Errorf("%w: %s: start: %w", ErrNotFound, path, err)
}

// ended words why a command gave no result.
func (l *Local) ended(cause error, what string) error {
	if errors.Is(cause, context.Canceled) {
		return fmt.Errorf("%s: %s: %w", l.tool, what, cause)
	}
	return fmt.Errorf("%s: %w: %s", l.tool, ErrTimeout, what)
}

// limit sets the end of a process so far before the context's that it can be killed and waited for in between.
func limit(ctx context.Context) (limited context.Context, grace time.Duration, stop context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		limited, stop = context.WithTimeout(ctx, defaultTimeout)
		return limited, maxGrace, stop
	}
	grace = min(maxGrace, max(0, time.Until(deadline)/8))
	limited, stop = context.WithDeadline(ctx, deadline.Add(-grace))
	return limited, grace, stop
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
