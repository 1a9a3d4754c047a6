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

// maxFlood is what is kept of an output that exceeds its limit, in bytes. No real output does, so its beginning is for the message, and a
// parser must not spend memory on the rest.
const maxFlood = 1 << 20

// bounded is a buffer for at most limit bytes. If there are more it keeps the beginning and calls full once.
type bounded struct {
	data      []byte
	limit     int
	truncated bool
	full      func()
}

// reserve makes room for n more bytes. It doubles the capacity, but never beyond the limit, as append would.
func (b *bounded) reserve(n int) {
	if need := len(b.data) + n; need > cap(b.data) {
		grown := make([]byte, len(b.data), min(b.limit, max(need, 2*cap(b.data))))
		copy(grown, b.data)
		b.data = grown
	}
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.truncated {
		return len(p), nil
	}
	room := min(len(p), b.limit-len(b.data))
	b.reserve(room)
	b.data = append(b.data, p[:room]...)
	if room < len(p) {
		b.truncated = true
		retained := make([]byte, min(len(b.data), maxFlood))
		copy(retained, b.data)
		b.data = retained
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}
