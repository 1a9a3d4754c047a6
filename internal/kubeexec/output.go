// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import "sync"

// The bounds of what is kept of one exec.
const (
	maxStdout = 16 << 20
	maxStderr = 64 << 10
	maxStatus = 64 << 10
	// maxKept is the largest buffer that is kept for the next exec; one flood must not hold its memory for good.
	maxKept = 1 << 20
)

// output takes what an exec prints.
type output struct {
	stdout, stderr, status bounded
	began                  bool // the connection was made, so that the command may have been started
}

// bounded is a buffer that keeps at most limit bytes and tells that there were more.
type bounded struct {
	data      []byte
	limit     int
	truncated bool
}

func (b *bounded) reset(limit int) {
	if cap(b.data) > maxKept {
		b.data = nil
	}
	b.data, b.limit, b.truncated = b.data[:0], limit, false
}

func (o *output) reset() {
	o.stdout.reset(maxStdout)
	o.stderr.reset(maxStderr)
	o.status.reset(maxStatus)
	o.began = false
}

// restart prepares for another exec and keeps the beginning of what was printed.
func (o *output) restart(stdout, stderr int) {
	o.stdout.data, o.stderr.data = o.stdout.data[:stdout], o.stderr.data[:stderr]
	o.status.reset(maxStatus)
	o.began = false
}

// outputs are buffers that reads share: as many are needed as there are reads at a time, not as there are nodes.
type outputs struct{ pool sync.Pool }

func (o *outputs) get() *output {
	if out, ok := o.pool.Get().(*output); ok {
		out.reset()
		return out
	}
	out := &output{}
	out.reset()
	return out
}

func (o *outputs) put(out *output) { o.pool.Put(out) }
