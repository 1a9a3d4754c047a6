// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Reader reads the GPUs of one machine. What it learns of the installed version and of the GPUs it keeps between reads: a
// GPU that was seen once stays in the node when the tool no longer shows it.
type Reader struct {
	runner  command.Runner
	fast    bool
	want    gpu.Group
	now     func() time.Time
	node    gpu.Node
	memory  memory
	listing listing
	minors  minors
	fields  fields
	pmon    pmonState
	rest    rest
	mig     bool // a GPU had MIG mode on at the last read
	allMIG  bool

	// selected are the GPUs that are asked for, since one without a handle spoils the calls for all; selectedOf are those
	// that -L listed then; where it listed more of them, all are asked for again now and then.
	selected, selectedOf selection
	reselected           retry
}

// pmonState is what is known of pmon on this machine.
type pmonState struct {
	refused string // why the installed version does not have it on these GPUs; empty: it may
	driver  string // for which version that holds
	again   retry  // it may have been a GPU that was failing just then
}

// Option changes a Reader.
type Option func(*Reader)

// WithClock replaces time.Now.
func WithClock(now func() time.Time) Option { return func(r *Reader) { r.now = now } }

// New returns a Reader that runs the tool through runner and reads what is wanted. The configuration must be valid; its path
// is the runner's business.
func New(cfg Config, runner command.Runner, want gpu.Group, options ...Option) *Reader {
	r := &Reader{runner: runner, fast: cfg.Query == QueryFast, want: want, now: time.Now}
	for _, o := range options {
		o(r)
	}
	return r
}

// NewLocal returns a Reader of this machine's GPUs.
func NewLocal(cfg Config, want gpu.Group, options ...Option) (*Reader, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	runner, err := command.NewLocal(command.NvidiaSMI, cfg.Path)
	if err != nil {
		return nil, err
	}
	return New(cfg, runner, want, options...), nil
}

var _ gpu.Source = (*Reader)(nil)

// Read implements gpu.Source. It returns an error where the place in which the tool runs could not be reached, where the tool
// printed something that is none of its outputs, and where the context was cancelled.
func (r *Reader) Read(ctx context.Context) (*gpu.Node, error) {
	r.node = gpu.Node{Vendor: gpu.NVIDIA, Time: r.now(), Devices: r.node.Devices[:0], Processes: r.node.Processes[:0]}
	if f := r.rest.failure; f != nil && !r.rest.due(r.node.Time) {
		r.fail(f)
		return &r.node, nil
	}
	s, failed, err := r.sweep(ctx)
	if err != nil {
		return nil, err
	}
	if failed != nil {
		r.backOff(failed)
		r.fail(failed)
		return &r.node, nil
	}
	r.rest = rest{}
	r.assemble(s)
	return &r.node, nil
}

// Reset is for when the place in which the tool runs was replaced, and the driver with it: a driver pod that was started anew.
// What was learnt of the version is forgotten, and the counters of the GPUs start anew. Which GPUs there are is remembered.
func (r *Reader) Reset() {
	r.fields, r.pmon, r.listing, r.minors, r.rest = fields{}, pmonState{}, listing{}, minors{}, rest{}
	r.mig, r.allMIG = false, false
	r.selected, r.selectedOf, r.reselected = nil, nil, retry{}
	r.memory.reloaded = r.memory.reloaded || r.memory.driver != ""
}

// Close implements gpu.Source. A tool that is running ends with the context of the Read that started it.
func (r *Reader) Close() error { return nil }

func (r *Reader) problem(kind gpu.ProblemKind, device, what string, err error) {
	r.node.Problems = append(r.node.Problems, gpu.Problem{Kind: kind, Device: device, What: what, Err: err})
}
