// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
)

const (
	// margin is how much earlier than the exec the tools end: their output has to come back.
	margin = 2 * time.Second
	// defaultLimit is for a context without a deadline.
	defaultLimit = 10 * time.Second
	// maxHung is how many execs in a row may begin and not come back before the tool is said to hang. The first may be the
	// network's or the API server's fault.
	maxHung = 2
)

// mode is how commands are run in a container; it is found out once for each of its instances.
type mode uint8

const (
	modeScript mode = iota // one exec runs all
	modeTimed              // there is no sh: one exec each, under timeout
	modePlain              // … nor timeout: the tool itself
)

// runner runs one tool in a container.
type runner struct {
	executor executor
	tool     command.Tool
	now      func() time.Time

	in       place
	instance string // the id of the container's instance
	out      *output
	mode     mode
	hung     int
}

var _ command.Runner = (*runner)(nil)

// use says in which container the next commands run, and where their output goes until release.
func (r *runner) use(in place, instance string, out *output) {
	if r.instance != instance {
		r.mode, r.hung = modeScript, 0
	}
	r.in, r.instance, r.out = in, instance, out
}

func (r *runner) release() *output {
	out := r.out
	r.out = nil
	return out
}

// Run implements command.Runner.
func (r *runner) Run(ctx context.Context, commands ...command.Command) ([]command.Result, error) {
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

// limit is how long tools may run under a context.
func (r *runner) limit(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(deadline.Sub(r.now())-margin, time.Second)
}

// batch runs the commands by one exec of a script.
func (r *runner) batch(ctx context.Context, commands []command.Command) ([]command.Result, error) {
	separator, limit, began := newSeparator(), r.limit(ctx), r.now()
	code, err := r.executor.exec(ctx, r.in, batchArgv(separator, limit, commands), r.out)
	if missing(err) {
		return nil, errNoScript
	}
	segments, rest, splitErr := splitBatch(separator, r.out.stdout.data, r.out.stderr.data)
	if splitErr != nil {
		if err == nil && errors.Is(splitErr, errNoScript) && code != codeNotFound && code != codeNotExecutable {
			splitErr = fmt.Errorf("kubeexec: run a script in %s: exit code %d, and none of its output: %s", r.in, code,
				excerpt(string(r.out.stderr.data)))
		}
		if err != nil {
			return nil, r.unfinished(err, false)
		}
		return nil, splitErr
	}
	if len(segments) > len(commands) {
		return nil, fmt.Errorf("kubeexec: run a script in %s: %d results of %d commands", r.in, len(segments), len(commands))
	}
	results := make([]command.Result, 0, len(commands))
	for i, s := range segments {
		if err := r.ended(commands[i].Tool, s, r.late(began, limit)); err != nil {
			return results, err
		}
		results = append(results, command.Result{Stdout: s.stdout, Stderr: s.stderr, ExitCode: ownCode(s.code)})
	}
	if len(results) == len(commands) {
		r.hung = 0
		return results, nil // how the exec ended does not matter any more
	}
	if r.out.stdout.truncated {
		results = append(results, command.Result{Stdout: rest.stdout, Stderr: rest.stderr, ExitCode: -1, Truncated: true})
		if len(results) == len(commands) {
			return results, nil
		}
		return results, fmt.Errorf("kubeexec: exec in %s: more than %d bytes of output", r.in, maxStdout)
	}
	if err != nil {
		return results, r.unfinished(err, true)
	}
	if left := len(commands) - len(results); !r.late(began, limit) {
		return results, fmt.Errorf("kubeexec: run a script in %s: exit code %d, and %d of %d commands did not end; %s", r.in, code, left,
			len(commands), stopped)
	}
	return results, fmt.Errorf("kubeexec: %s in %s: %w: no time was left for %d of %d commands", r.tool, r.in, command.ErrTimeout,
		len(commands)-len(results), len(commands))
}

// stopped is why something ends that had time left. It says nothing of the GPUs.
const stopped = "its container was stopped, or is out of memory"

// late tells whether what was given a limit has used it up: scripts and timeout(1) count whole seconds.
func (r *runner) late(began time.Time, limit time.Duration) bool {
	return r.now().Sub(began) >= limit.Truncate(time.Second)-time.Second
}

// lastSignal is the highest number of a signal in Linux.
const lastSignal = 64

// ownCode returns a tool's own exit code, -1 where a signal ended it: shells, timeout(1) and the runtimes of containers tell a signal
// by 128 and its number.
func ownCode(code int) int {
	if code > 128 && code <= 128+lastSignal {
		return -1
	}
	return code
}

// ended tells what an exit code says that is not the tool's own.
func (r *runner) ended(tool command.Tool, s segment, late bool) error {
	switch code := s.code; {
	case code == codeNotFound, code == codeNotExecutable:
		return fmt.Errorf("kubeexec: %w: %s in %s: %s; choose the container that carries it", command.ErrNotFound, tool, r.in,
			excerpt(string(s.stderr)))
	case (code == codeTimedOut || code == codeKilled) && late:
		r.hung = 0
		return fmt.Errorf("kubeexec: %s in %s: %w and was killed; a GPU or the driver may hang: see the node's kernel log", tool, r.in,
			command.ErrTimeout)
	case code == codeKilled && len(s.stdout) == 0: // of a part of the output the tool's reader makes what can be made
		return fmt.Errorf("kubeexec: %s in %s: it was killed; %s", tool, r.in, stopped)
	}
	return nil
}

// unfinished words an exec that did not come back. A tool that was begun and that not even a kill ends hangs in the kernel.
func (r *runner) unfinished(err error, begun bool) error {
	if !begun || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if r.hung++; r.hung < maxHung {
		return err
	}
	return fmt.Errorf("%s: %w, nor did a kill end it %d times in a row: %w; a GPU or the driver hangs: see the node's kernel log",
		r.tool, command.ErrTimeout, r.hung, err)
}

// each runs the commands by an exec each.
func (r *runner) each(ctx context.Context, commands []command.Command) ([]command.Result, error) {
	results := make([]command.Result, 0, len(commands))
	for _, c := range commands {
		stdout, stderr := len(r.out.stdout.data), len(r.out.stderr.data)
		code, late, err := r.one(ctx, c)
		if err != nil {
			return results, err
		}
		result := command.Result{
			Stdout: slices.Clip(r.out.stdout.data[stdout:]), Stderr: slices.Clip(r.out.stderr.data[stderr:]),
			ExitCode: ownCode(code), Truncated: r.out.stdout.truncated,
		}
		if err := r.ended(c.Tool, segment{result.Stdout, result.Stderr, code}, late); err != nil {
			return results, err
		}
		r.hung = 0
		results = append(results, result)
		if result.Truncated && len(results) < len(commands) {
			return results, fmt.Errorf("kubeexec: exec in %s: more than %d bytes of output", r.in, maxStdout)
		}
	}
	return results, nil
}

// one runs one command by an exec of its own.
func (r *runner) one(ctx context.Context, c command.Command) (code int, late bool, err error) {
	argv := append([]string{string(c.Tool)}, c.Args...)
	limit, began := r.limit(ctx), r.now()
	stdout, stderr := len(r.out.stdout.data), len(r.out.stderr.data)
	r.out.restart(stdout, stderr)
	if r.mode == modeTimed {
		code, err = r.executor.exec(ctx, r.in, append([]string{"timeout", "-s", "KILL", seconds(limit)}, argv...), r.out)
		if !missing(err) && (err != nil || code != codeNotFound && code != codeNotExecutable) {
			return r.came(code, began, limit, err)
		}
		r.mode = modePlain
		r.out.restart(stdout, stderr)
	}
	code, err = r.executor.exec(ctx, r.in, argv, r.out)
	if missing(err) {
		return 0, false, fmt.Errorf("%w: %w; choose the container that carries %s", command.ErrNotFound, err, c.Tool)
	}
	return r.came(code, began, limit, err)
}

func (r *runner) came(code int, began time.Time, limit time.Duration, err error) (int, bool, error) {
	if err != nil {
		return 0, false, r.unfinished(err, r.out.began)
	}
	return code, r.late(began, limit), nil
}

// missing tells that a container has no such program, by the words of runc, crun and the container runtimes around them.
func missing(err error) bool {
	var start *startError
	if !errors.As(err, &start) {
		return false
	}
	for _, words := range []string{"executable file not found", "no such file or directory", "not found in $PATH"} {
		if strings.Contains(start.message, words) {
			return true
		}
	}
	return false
}
