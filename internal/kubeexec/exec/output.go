// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"io"
)

// The bounds of what is kept of one exec, in bytes.
const (
	maxStdout = 8 << 20 // of all commands of a Run; as of a tool on this machine
	maxStderr = 64 << 10
	maxStatus = 64 << 10
)

// Output takes what an exec prints.
type Output struct {
	stdout, stderr, status bounded
	started                bool // the connection was made, so the command may have been started
}

func newOutput() *Output {
	o := &Output{}
	o.reset()
	return o
}

// Begin notes that the command may have been started.
func (o *Output) Begin() { o.started = true }

// Stdout returns the writer of the command's output. It never fails: what exceeds the bound is dropped.
func (o *Output) Stdout() io.Writer { return &o.stdout }

// Stderr returns the writer of the command's error output. It never fails: what exceeds the bound is dropped.
func (o *Output) Stderr() io.Writer { return &o.stderr }

func (o *Output) reset() {
	*o = Output{stdout: bounded{limit: maxStdout}, stderr: bounded{limit: maxStderr}, status: bounded{limit: maxStatus}}
}

// next prepares for the next exec of the same read, within what the ones before have left of the bounds. Their output stays valid, and
// is held once: the next exec has buffers of its own.
func (o *Output) next() {
	*o = Output{
		stdout: bounded{limit: o.stdout.limit - len(o.stdout.data)}, stderr: bounded{limit: o.stderr.limit - len(o.stderr.data)},
		status: bounded{limit: maxStatus},
	}
}

// restart drops the output of the last exec, and prepares for another one that replaces it.
func (o *Output) restart() {
	o.stdout.data, o.stderr.data = nil, nil
	o.next()
}

// bounded is a buffer that keeps at most limit bytes and notes whether there were more.
type bounded struct {
	data      []byte
	limit     int
	truncated bool
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
	size := min(len(p), b.limit-len(b.data))
	b.reserve(size)
	b.data = append(b.data, p[:size]...)
	b.truncated = b.truncated || size < len(p)
	return len(p), nil
}

// readFrom appends all of r. overflow is called when there is more than fits; the rest is then read and dropped.
func (b *bounded) readFrom(r io.Reader, overflow func()) error {
	if _, err := io.Copy(b, io.LimitReader(r, int64(b.limit-len(b.data)))); err != nil {
		return err
	}
	var next [1]byte
	if _, err := io.ReadFull(r, next[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // it just fits
		}
		return err
	}
	b.truncated = true
	overflow()
	_, err := io.Copy(io.Discard, r)
	return err
}

func nothing() {}
