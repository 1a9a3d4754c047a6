// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// retryPolicy is for opening the driver: the first failure is followed by an attempt at the next read.
var retryPolicy = backoff.Policy{First: 30 * time.Second, Max: 5 * time.Minute, Free: 1}

// operation is a call that concerns the whole driver: nvmlInit or nvmlShutdown. There is at most one, which may never return.
type operation struct {
	name  string
	start time.Time
	take  func() // uses its result
}

// driver loads the library, and opens and closes sessions.
type driver struct {
	path    string // of the library, as configured
	machine *driverHint
	now     func() time.Time
	pool    *workers.Pool
	task    *workers.Task
	begin   func(*library.Library) (*session, library.Code)

	loader  library.Loader // belongs to the pending operation
	lib     *library.Library
	session *session   // nil: NVML is not initialised
	pending *operation // nil: none
	failure failure    // why there is no session
	late    bool       // there is no session because the time for the read was over before NVML was initialised
	retry   backoff.Backoff
	hint    string // what the machine showed of the driver at the last failure

	fileChecked  time.Time
	fileReplaced bool
}

// open initialises NVML if it is time to try, and reports whether there is a session.
func (d *driver) open(ctx context.Context, now time.Time) bool {
	d.settle()
	d.late = false
	if d.pending != nil {
		return false
	}
	if d.session != nil {
		return true
	}
	hint := d.machine.read(ctx)
	if !d.retry.Due(now) && hint == d.hint {
		return false
	}
	lib, name := d.lib, "nvmlInit"
	if lib == nil {
		name = "dlopen or nvmlInit"
	}
	var (
		session *session
		code    library.Code
		err     error
	)
	d.late = !d.run(ctx, name, func() {
		if lib == nil {
			if lib, err = d.loader.Load(d.path); err != nil {
				return
			}
		}
		session, code = d.begin(lib)
	}, func() {
		switch {
		case errors.Is(err, library.ErrFileChanging): // tried at the next read, whatever the back-off says
			d.failure = notLoaded(err)
			return
		case err != nil:
			d.failed(now, hint, notLoaded(err))
			return
		}
		d.lib = lib
		if code == library.OK {
			d.session = session
			d.retry, d.failure = backoff.Backoff{}, failure{}
			return
		}
		d.failed(now, hint, failureOf(code, fmt.Errorf("nvml: initialise %s: %w", lib.Path, code)))
	})
	return d.session != nil
}

func (d *driver) failed(now time.Time, hint string, f failure) {
	d.retry.Failed(now, retryPolicy)
	d.hint = hint
	d.failure = f
}

// run runs an operation, and waits for it until the context ends. It reports whether the operation started.
func (d *driver) run(ctx context.Context, name string, call, take func()) bool {
	op := &operation{name: name, start: d.now(), take: take}
	d.pool.Run(ctx, workers.Job{Task: d.task, Func: call})
	if d.task.Outcome() == workers.NotBegun {
		return false
	}
	d.pending = op
	d.settle()
	return true
}

// settle takes the result of the pending operation if it has one.
func (d *driver) settle() {
	if op := d.pending; op != nil && !d.task.Busy() {
		d.pending = nil
		op.take()
	}
}

// close shuts NVML down unless a call is outstanding. It reports whether it did.
func (d *driver) close(ctx context.Context) bool {
	session := d.session
	if session == nil || d.pending != nil || d.pool.Outstanding() > 0 {
		return false
	}
	d.session = nil
	if !d.run(ctx, "nvmlShutdown", session.close, func() {}) {
		d.session = session
		return false
	}
	return true
}

// keepClosed is called instead of open by a read that uses no GPU.
func (d *driver) keepClosed(ctx context.Context) {
	d.settle()
	d.late = false
	d.close(ctx)
}

// setGone notes that the driver is gone.
func (d *driver) setGone(code library.Code) {
	d.failure = failureOf(code, fmt.Errorf("nvml: driver gone: %w", code))
}

// version is the driver's version; empty: not known.
func (d *driver) version() string {
	if d.session == nil {
		return ""
	}
	return d.session.driver
}

// fileTrust is for how long the library's file is not checked while the library can be used.
const fileTrust = time.Minute

// replaced reports whether the loaded library is not the installed one any more.
func (d *driver) replaced(now time.Time) bool {
	if d.lib == nil {
		return false
	}
	if age := now.Sub(d.fileChecked); d.failure.err != nil || age < 0 || age >= fileTrust {
		d.fileChecked, d.fileReplaced = now, d.lib.Replaced()
	}
	return d.fileReplaced
}

// report adds to the node why NVML cannot be used; unusable is nil if it can.
func (d *driver) report(n *gpu.Node, now time.Time, unusable *failure) {
	add := func(kind gpu.ProblemKind, subject string, err error) {
		n.Problems = append(n.Problems, gpu.Problem{Kind: kind, What: subject, Err: err})
	}
	if d.replaced(now) {
		add(gpu.ProblemSource, "library", fmt.Errorf("nvml: %s was replaced or removed after it was loaded; the loaded library is used as long as "+
			"the kernel driver accepts it; restart the collector when it no longer does", d.lib.File))
	}
	if d.pending == nil && d.session != nil && d.session.task.Outcome() == workers.Hung {
		add(gpu.ProblemQuantity, "events", errSessionHung)
	}
	if f := unusable; f != nil {
		add(gpu.ProblemSource, f.subject, f.err)
		if f.restart {
			n.RestartNeeded = f.err
		}
	} else if d.late {
		add(gpu.ProblemSource, "driver", errNotOpened)
	}
}

// unusable returns why NVML cannot be used at present; nil: it can.
func (d *driver) unusable() *failure {
	if op := d.pending; op != nil {
		return &failure{reason: gpu.FailureTimeout, silent: d.task.Outcome() != workers.Hung, subject: "driver", err: fmt.Errorf(
			"nvml: %s has not returned since %s; see the kernel log (dmesg)", op.name, op.start.Format(time.RFC3339),
		)}
	}
	if d.failure.err == nil {
		return nil
	}
	return &d.failure
}
