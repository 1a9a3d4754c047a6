// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import "errors"

var errOutputLimit = errors.New("more output than the limit")

// output receives what a process prints.
type output struct {
	stdout, stderr bounded
}

// newOutput returns an output with limits in bytes. full is called when stdout exceeds its limit: what follows is of no use, so
// the tool need not go on. What exceeds the limit of stderr is dropped.
func newOutput(stdoutLimit, stderrLimit int, full func()) *output {
	return &output{stdout: bounded{limit: stdoutLimit, full: full}, stderr: bounded{limit: stderrLimit}}
}

func (o *output) result(exitCode int) Result {
	return Result{Stdout: o.stdout.data, Stderr: o.stderr.data, ExitCode: exitCode, Truncated: o.stdout.truncated}
}

// bounded is a buffer that keeps at most limit bytes and drops the rest. It calls full once where there is a rest.
type bounded struct {
	data      []byte
	limit     int
	truncated bool
	full      func()
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - len(b.data)
	if room >= len(p) {
		b.data = append(b.data, p...)
		return len(p), nil
	}
	b.data = append(b.data, p[:room]...)
	if !b.truncated {
		b.truncated = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}
