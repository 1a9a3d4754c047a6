// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import "errors"

// maxKept is the largest buffer that is kept for the next run; one flood must not hold its memory for good.
const maxKept = 4 << 20

var errOutputLimit = errors.New("more output than is kept")

// output takes what a process writes.
type output struct {
	stdout, stderr bounded
}

// bounded is a buffer that keeps at most limit bytes, swallows the rest, and tells once that there is a rest.
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

func (b *bounded) reset(limit int, full func()) {
	b.data, b.limit, b.truncated, b.full = b.data[:0], limit, false, full
	if cap(b.data) > maxKept {
		b.data = nil
	}
}

func (o *output) result(exitCode int) Result {
	return Result{Stdout: o.stdout.data, Stderr: o.stderr.data, ExitCode: exitCode, Truncated: o.stdout.truncated}
}

// output returns the buffers of the i-th command of a batch, empty. full is called when stdout has more than is kept: what
// comes then is of no use, so that the tool need not go on. The rest of stderr is dropped.
func (l *Local) output(i int, full func()) *output {
	for len(l.outputs) <= i {
		l.outputs = append(l.outputs, &output{})
	}
	o := l.outputs[i]
	o.stdout.reset(l.stdoutLimit, full)
	o.stderr.reset(l.stderrLimit, nil)
	return o
}
