// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// failure is why a read has no listing of GPUs. The GPUs that are known stay in the node with the fault.
type failure struct {
	err     error
	fault   gpu.FaultType
	rest    bool // nothing changes quickly: look again with back-off where no GPU is known
	always  bool // … and also where one is
	reload  bool // the driver or its GPUs are away, and its counters start anew when they come back
	unknown bool // it says nothing of how many GPUs can be seen
	unread  bool // the tool has not answered
}

// notRun words the error of a Runner. A nil failure means that nothing can be said of the GPUs.
func notRun(err error) *failure {
	switch {
	case errors.Is(err, command.ErrNotFound):
		return &failure{err: err, fault: gpu.FaultUnreachable, rest: true, always: true, unread: true}
	case errors.Is(err, command.ErrTimeout), errors.Is(err, command.ErrBusy):
		return &failure{err: err, fault: gpu.FaultHung, unknown: true, unread: true}
	}
	return nil
}

// refused words what the tool said instead of a listing.
func refused(call string, d parse.Diagnosis) *failure {
	f := &failure{fault: gpu.FaultUnreachable, rest: true}
	remedy := "run it by hand to see more"
	switch d.Failure {
	case parse.FailureDriverNotLoaded:
		f.reload = true
		remedy = "load the NVIDIA driver (modprobe nvidia), or leave this scraper out where there is no GPU"
	case parse.FailureDriverMismatch:
		f.fault, f.reload, f.rest = gpu.FaultDriverMismatch, true, false
		remedy = "the driver was updated while its old kernel module stays loaded: reboot, or unload the module and load the new one"
	case parse.FailureLibraryMissing:
		f.reload = true
		remedy = "install the driver's library libnvidia-ml.so.1 where the tool runs, or mount it into the container"
	case parse.FailureNoPermission:
		remedy = "give the user that runs it access to /dev/nvidiactl and /dev/nvidia*"
	case parse.FailureNoDevices:
		f.reload = true
		remedy = "no GPU is bound to the NVIDIA driver, or all are lost: see lspci and the kernel's log"
	case parse.FailureToolMismatch:
		remedy = "run the nvidia-smi that came with the installed driver"
	case parse.FailureInit:
		f.rest = false
		remedy = "in a container that has lost its devices (systemd daemon-reload does that) restart it, and pass /dev/nvidia* to it; " +
			"otherwise see the kernel's log"
	case parse.FailureUsage, parse.FailureUnsupported:
		remedy = "the installed version does not know the call"
	case parse.FailureNone, parse.FailureOther:
	}
	f.err = fmt.Errorf("%s: %s; %s", call, d.Message, remedy)
	return f
}

// The waiting between looks at a machine on which there is nothing to read, and between questions that had no answer.
const (
	firstRest = 10 * time.Second
	lastRest  = 5 * time.Minute
)

// rest is a pause after a failure that will not pass quickly.
type rest struct {
	retry

	failure *failure
}

// retry spaces out what is tried again, each time twice as long as before.
type retry struct {
	until  time.Time
	length time.Duration
}

func (t *retry) due(now time.Time) bool { return !now.Before(t.until) }

func (t *retry) later(now time.Time) {
	t.length = min(max(firstRest, 2*t.length), lastRest)
	t.until = now.Add(t.length)
}

func (r *Reader) backOff(f *failure) {
	if !f.rest || (!f.always && len(r.memory.gpus) > 0) {
		r.rest = rest{}
		return
	}
	r.rest.failure = f
	r.rest.later(r.node.Time)
}

// fail fills the node for a read that has no listing.
func (r *Reader) fail(f *failure) {
	r.problem(gpu.ProblemSource, "", "nvidia-smi", f.err)
	r.node.Unread = f.unread
	if f.reload {
		r.memory.reloaded = true
		r.minors = minors{}
	}
	for _, k := range r.memory.gpus {
		r.absent(k, f.fault, f.err.Error())
	}
	missing := len(r.memory.gpus)
	if missing > 0 || !f.unknown {
		r.node.Presence[gpu.Visible] = gpu.Some(int64(0))
	}
	if missing > 0 { // the tool cannot tell whether there is one that it never saw
		r.node.Presence[gpu.Missing] = gpu.Some(int64(missing))
	}
}
