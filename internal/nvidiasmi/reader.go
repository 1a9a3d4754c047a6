// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Reader is the gpu.Source of the GPUs of one machine. It keeps the GPUs that it has seen: they stay in the node when the tool
// does not list them any more.
type Reader struct {
	queries queries
	known   knownGPUs
	sleep   *sleepWatch // nil: the GPUs may be woken, or are another machine's
	now     func() time.Time

	lasting *failure // a failure that does not pass quickly; nil if there is no such failure
	retry   backoff.Backoff
}

// Option changes a Reader.
type Option func(*Reader)

// WithClock replaces time.Now.
func WithClock(now func() time.Time) Option { return func(r *Reader) { r.now = now } }

// New returns a Reader that runs the tool with runner and reads the wanted quantities. The configuration must be valid. Its path is not
// used, because the runner knows the path of the tool. Messages advise what to do on Linux.
func New(cfg Config, runner command.Runner, want gpu.Group, options ...Option) *Reader {
	r := &Reader{queries: queries{runner: runner, want: want, fast: cfg.Query == QueryFast, advice: adviceFor("linux")}, now: time.Now}
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
	r := New(cfg, runner, want, options...)
	r.queries.advice = adviceFor(runtime.GOOS)
	if runtime.GOOS == "linux" && !cfg.WakeDevices {
		r.sleep = newSleepWatch("/sys")
	}
	return r, nil
}

var _ gpu.Source = (*Reader)(nil)

// Read implements gpu.Source. It returns an error if the machine on which the tool runs could not be reached, if the context was cancelled,
// and if no GPU is known and the tool printed something that is not its output. Any other failure is in the node, with the known GPUs.
func (r *Reader) Read(ctx context.Context) (*gpu.Node, error) {
	now := r.now()
	if functions := r.sleep.asleep(ctx); functions != nil {
		return asleepNode(now, functions, &r.known), nil
	}
	if r.lasting != nil && !r.retry.Due(now) {
		return failedNode(now, r.lasting, &r.known), nil
	}
	out, err := r.queries.run(ctx, now)
	var failed *failure
	switch {
	case errors.As(err, &failed):
		r.backOff(now, failed)
		if failed.mute && len(r.known.inventory.All()) == 0 {
			return nil, &gpu.Failure{Reason: failed.reason, Err: failed}
		}
		if failed.driverAway {
			r.queries.driverAway()
		}
		return failedNode(now, failed, &r.known), nil
	case err != nil:
		return nil, err
	}
	r.lasting, r.retry = nil, backoff.Backoff{}
	return newNode(now, out, &r.queries.deviceList, &r.known), nil
}

// backOff spaces out the reads after a lasting failure. If GPUs are known it does so for a missing tool only.
func (r *Reader) backOff(now time.Time, f *failure) {
	if !f.lasting || !f.toolMissing && len(r.known.inventory.All()) > 0 {
		r.lasting, r.retry = nil, backoff.Backoff{}
		return
	}
	r.lasting = f
	r.retry.Failed(now, retryPolicy)
}

// Reset is called if the environment of the tool was replaced, and the driver with it, for example because a driver pod was started again.
// The Reader forgets what it learnt about the version, and the counters of the GPUs start again. It keeps the known GPUs.
func (r *Reader) Reset() {
	r.queries.reset()
	r.lasting, r.retry = nil, backoff.Backoff{}
	r.known.reloaded = r.known.reloaded || r.known.driver != ""
}

// Close implements gpu.Source. A tool that is running ends with the context of the Read that started it.
func (r *Reader) Close() error { return nil }
