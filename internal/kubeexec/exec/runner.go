// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// margin is how much earlier than the exec the tools end: their output has to be transferred.
	margin = 2 * time.Second
	// defaultLimit is for a context without a deadline.
	defaultLimit = 10 * time.Second
	// maxHung is the number of execs in a row that begin and do not return before the tool counts as hung. The first may be
	// the fault of the network or the API server.
	maxHung = 2
)

// mode is how commands are run in a container. It is found out once for each instance of the container.
type mode uint8

const (
	modeScript mode = iota // one exec runs all commands
	modeTimed              // without sh: one exec for each command, under timeout
	modePlain              // without timeout too: the tool alone
)

// Runner runs one tool in a container. It is for one goroutine at a time.
type Runner struct {
	executor Executor
	tool     command.Tool
	now      func() time.Time

	container Container
	out       *Output
	mode      mode
	hung      int
}

var _ command.Runner = (*Runner)(nil)

// NewRunner returns a Runner of a tool. Use must be called before the first command.
func NewRunner(executor Executor, tool command.Tool, now func() time.Time) *Runner {
	return &Runner{executor: executor, tool: tool, now: now}
}

// Use sets the container in which the next commands run, until Release.
func (r *Runner) Use(container Container) {
	if r.container.ID != container.ID {
		r.mode, r.hung = modeScript, 0
	}
	r.container, r.out = container, newOutput()
}

// Release frees the output of the commands. Results must not be used after it.
func (r *Runner) Release() { r.out = nil }

// Container is the container that Use has set.
func (r *Runner) Container() Container { return r.container }

// Run implements command.Runner.
func (r *Runner) Run(ctx context.Context, commands ...command.Command) ([]command.Result, error) {
	if err := check(r.tool, commands); err != nil || len(commands) == 0 {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultLimit)
		defer cancel()
	}
	r.out.reset()
	if r.mode == modeScript {
		results, err := r.batch(ctx, commands)
		switch {
		case errors.Is(err, errNoScript):
			r.mode = modeTimed
		case errors.Is(err, errNoTimeout):
			r.mode = modePlain
		default:
			return results, err
		}
		r.out.reset()
	}
	return r.each(ctx, commands)
}

// limit returns how long tools may run under a context.
func (r *Runner) limit(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(deadline.Sub(r.now())-margin, time.Second)
}

// batch runs the commands by one exec of a script.
func (r *Runner) batch(ctx context.Context, commands []command.Command) ([]command.Result, error) {
	separator, limit, start := newSeparator(), r.limit(ctx), r.now()
	code, err := r.executor.Exec(ctx, r.container, batchArgv(separator, limit, commands), r.out)
	if missing(err) {
		return nil, errNoScript
	}
	segments, rest, splitErr := splitBatch(separator, r.out.stdout.data, r.out.stderr.data)
	if splitErr != nil {
		if err == nil && errors.Is(splitErr, errNoScript) && code != codeNotFound && code != codeNotExecutable {
			splitErr = execFailed("kubernetes_exec: run a script in %s: exit code %d, and its output is missing: %s", r.container, code,
				excerpt(string(r.out.stderr.data)))
		}
		if err != nil {
			return nil, r.unfinished(err, false)
		}
		return nil, splitErr
	}
	if len(segments) > len(commands) {
		return nil, execFailed("kubernetes_exec: run a script in %s: %d results of %d commands", r.container, len(segments), len(commands))
	}
	results := make([]command.Result, 0, len(commands))
	for i, s := range segments {
		if err := r.ended(commands[i].Tool, s, r.late(start, limit)); err != nil {
			return results, err
		}
		results = append(results, command.Result{Stdout: s.stdout, Stderr: s.stderr, ExitCode: ownCode(s.code)})
	}
	if len(results) == len(commands) {
		r.hung = 0
		return results, nil // all results are there, however the exec ended
	}
	if r.out.stdout.truncated {
		results = append(results, command.Result{Stdout: rest.stdout, Stderr: rest.stderr, ExitCode: -1, Truncated: true})
		if len(results) == len(commands) {
			return results, nil
		}
		return results, r.flooded()
	}
	if err != nil {
		return results, r.unfinished(err, true)
	}
	if left := len(commands) - len(results); !r.late(start, limit) {
		return results, execFailed("kubernetes_exec: run a script in %s: exit code %d, and %d of %d commands did not end; %s", r.container, code, left,
			len(commands), stopped)
	}
	return results, fmt.Errorf("kubernetes_exec: %s in %s: %w: no time was left for %d of %d commands", r.tool, r.container, command.ErrTimeout,
		len(commands)-len(results), len(commands))
}

// flooded is the error if a command has printed more than is kept, and the commands after it have not run.
func (r *Runner) flooded() error {
	return &gpu.Failure{Reason: gpu.FailureOutput, Err: fmt.Errorf("kubernetes_exec: exec in %s: more than %d bytes of output", r.container, maxStdout)}
}

// stopped is why a command ends before its time. It says nothing about the GPUs.
const stopped = "its container was stopped, or is out of memory"

// late reports whether a command has used up its limit. Scripts and timeout(1) count whole seconds.
func (r *Runner) late(start time.Time, limit time.Duration) bool {
	return r.now().Sub(start) >= limit.Truncate(time.Second)-time.Second
}

// lastSignal is the highest number of a signal in Linux.
const lastSignal = 64

// ownCode returns a tool's own exit code, -1 if a signal ended it: shells, timeout(1) and container runtimes report a signal as 128 plus
// its number.
func ownCode(code int) int {
	if code > 128 && code <= 128+lastSignal {
		return -1
	}
	return code
}

// ended returns an error for an exit code that is not the tool's own.
func (r *Runner) ended(tool command.Tool, s segment, late bool) error {
	switch code := s.code; {
	case code == codeNotFound, code == codeNotExecutable:
		return fmt.Errorf("kubernetes_exec: %w: %s in %s: %s; choose the container that contains it", command.ErrNotFound, tool, r.container,
			excerpt(string(s.stderr)))
	case (code == codeTimedOut || code == codeKilled) && late:
		r.hung = 0
		return fmt.Errorf("kubernetes_exec: %s in %s: %w and was killed; a GPU or the driver may hang: see the node's kernel log", tool, r.container,
			command.ErrTimeout)
	case code == codeKilled && len(s.stdout) == 0: // the tool's reader uses a part of the output as far as it goes
		return &gpu.Failure{Reason: gpu.FailureToolFailed, Err: fmt.Errorf("kubernetes_exec: %s in %s: it was killed; %s", tool, r.container, stopped)}
	}
	return nil
}

// unfinished returns the error of an exec that did not return. A tool that has begun and that a kill does not end hangs in the kernel.
func (r *Runner) unfinished(err error, begun bool) error {
	if !begun || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if r.hung++; r.hung < maxHung {
		return err
	}
	return fmt.Errorf("%s: %w, and %d kills in a row did not end it: %w; a GPU or the driver hangs: see the node's kernel log",
		r.tool, command.ErrTimeout, r.hung, err)
}

// each runs each command by an exec of its own.
func (r *Runner) each(ctx context.Context, commands []command.Command) ([]command.Result, error) {
	results := make([]command.Result, 0, len(commands))
	for i, c := range commands {
		if i > 0 {
			r.out.next()
		}
		code, late, err := r.one(ctx, c)
		if err != nil {
			return results, err
		}
		result := command.Result{
			Stdout: r.out.stdout.data, Stderr: r.out.stderr.data, ExitCode: ownCode(code), Truncated: r.out.stdout.truncated,
		}
		if err := r.ended(c.Tool, segment{result.Stdout, result.Stderr, code}, late); err != nil {
			return results, err
		}
		r.hung = 0
		results = append(results, result)
		if result.Truncated && len(results) < len(commands) {
			return results, r.flooded()
		}
	}
	return results, nil
}

// one runs one command by one exec.
func (r *Runner) one(ctx context.Context, c command.Command) (code int, late bool, err error) {
	argv := append([]string{string(c.Tool)}, c.Args...)
	limit, start := r.limit(ctx), r.now()
	if r.mode == modeTimed {
		code, err = r.executor.Exec(ctx, r.container, append([]string{"timeout", "-s", "KILL", seconds(limit)}, argv...), r.out)
		if !missing(err) && (err != nil || code != codeNotFound && code != codeNotExecutable) {
			return r.came(code, start, limit, err)
		}
		r.mode = modePlain
		r.out.restart()
	}
	code, err = r.executor.Exec(ctx, r.container, argv, r.out)
	if missing(err) {
		return 0, false, fmt.Errorf("%w: %w; choose the container that contains %s", command.ErrNotFound, err, c.Tool)
	}
	return r.came(code, start, limit, err)
}

func (r *Runner) came(code int, start time.Time, limit time.Duration, err error) (int, bool, error) {
	if err != nil {
		return 0, false, r.unfinished(err, r.out.started)
	}
	return code, r.late(start, limit), nil
}
