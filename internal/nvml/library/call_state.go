// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"errors"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// retries is in reads: a function that fails is called at the second read after it, then at the fourth and so on.
var retries = backoff.PolicyIn[int]{First: 2, Max: 33}

// Retry spaces out the attempts at a function that fails.
type Retry struct {
	noted    bool // a problem persists
	skip     int  // reads in which it is not called
	failures int  // in a row
}

// Begin starts a read, and reports whether the function may be called in it.
func (r *Retry) Begin() bool {
	r.skip = max(r.skip-1, 0)
	return r.skip == 0
}

// Fail notes a failure: the function is not called in the next reads, in more of them after each failure.
func (r *Retry) Fail() {
	r.failures++
	r.skip = retries.Wait(r.failures)
}

// RetrySoon is Fail for a function that is called at the next read, and less often only if it fails again.
func (r *Retry) RetrySoon() {
	r.Fail()
	r.skip--
}

// Failing reports whether the last call failed.
func (r *Retry) Failing() bool { return r.failures > 0 }

// Skipped reports whether the function is not called in this read.
func (r *Retry) Skipped() bool { return r.skip > 0 }

// functionState is what is known of a function on one device.
type functionState struct {
	retry   Retry
	refused bool // for good
}

// Calls remembers the outcome of the calls on one device. So a call that is known to fail is not repeated, and a persistent problem is
// reported at each read without a call.
type Calls struct {
	// Device names the device in messages: by UUID, else by PCI address or index.
	Device string
	// Fatal is why the read ended early: the device or the driver is gone. OK: it did not.
	Fatal Code

	answered bool // a call of this read returned a value, or that there is no value now
	changed  bool // a call of this read failed or was refused that was not before

	exports  func(*Function) bool
	state    map[*Function]*functionState
	problems []gpu.Problem // the persistent problems; each keeps its place and its error
	keys     []any         // what each problem is about
}

// NewCalls returns the memory of the calls on a device. exports reports which functions the library exports.
func NewCalls(exports func(*Function) bool, device string) Calls {
	return Calls{Device: device, exports: exports, state: map[*Function]*functionState{}}
}

// Reset forgets everything, because the driver or the partitioning changed, except the failures of some functions.
func (c *Calls) Reset(except ...*Function) {
	for f, s := range c.state {
		s.refused = false
		if !slices.Contains(except, f) {
			delete(c.state, f)
		}
	}
	for i, key := range slices.Backward(c.keys) {
		if f, ok := key.(*Function); !ok || !slices.Contains(except, f) {
			c.removeProblem(i)
		}
	}
}

// Begin starts a read.
func (c *Calls) Begin() {
	c.Fatal, c.answered, c.changed = OK, false, false
	for _, s := range c.state {
		s.retry.Begin()
	}
}

// Problems returns the persistent problems.
func (c *Calls) Problems() []gpu.Problem { return c.problems }

// Has reports whether the library exports the function.
func (c *Calls) Has(f *Function) bool { return c.exports(f) }

// Supported reports whether the library exports the function and the device did not refuse it for good.
func (c *Calls) Supported(f *Function) bool {
	s := c.state[f]
	return (s == nil || !s.refused) && c.exports(f)
}

// Refused reports whether the device refused the function for good.
func (c *Calls) Refused(f *Function) bool {
	s := c.state[f]
	return s != nil && s.refused
}

// Can reports whether to call the function now.
func (c *Calls) Can(f *Function) bool {
	s := c.state[f]
	return c.Fatal == OK && c.Supported(f) && (s == nil || !s.retry.Skipped())
}

// Failing reports whether a problem with the function persists.
func (c *Calls) Failing(f *Function) bool {
	s := c.state[f]
	return s != nil && s.retry.noted
}

// OK notes what a call returned, and reports whether it returned a value.
func (c *Calls) OK(f *Function, code Code) bool { return c.note(f, f.Symbol(), code) }

// OKAt is OK for a call with an index.
func (c *Calls) OKAt(f *Function, index int, called *Function, code Code) bool {
	return c.note(f, fmt.Sprintf("%s, index %d", called.Symbol(), index), code)
}

// OKUncounted is OK for a call whose success is not an answer of the device: it returns a code of its own for each of several values, or it
// allocates memory of the library.
func (c *Calls) OKUncounted(f *Function, code Code) bool {
	answered := c.answered
	ok := c.OK(f, code)
	c.answered = answered
	return ok
}

// ForgetAnswers has Answered and Unreachable count from here on.
func (c *Calls) ForgetAnswers() { c.answered = false }

// Changed reports whether a call of this read failed or was refused that was not before.
func (c *Calls) Changed() bool { return c.changed }

// Answered reports whether any call of this read was answered.
func (c *Calls) Answered() bool { return c.answered }

// minFailures is how many calls must fail for a device to count as unreachable.
const minFailures = 2

// Unreachable returns the code with which calls fail on a device that answers no call: Denied if each is refused. It returns OK for a
// device that answers, or for which there were too few calls to decide.
func (c *Calls) Unreachable() Code {
	failures, last := 0, OK
	for _, p := range c.problems {
		code, ok := errors.AsType[Code](p.Err)
		if !ok || code == CorruptInfoROM || code.Answer() != Failed && code.Answer() != Denied {
			continue
		}
		failures++
		if last == OK || last.Answer() == Denied {
			last = code
		}
	}
	if c.answered || failures < minFailures {
		return OK
	}
	return last
}

// CorruptInfoROM reports whether a call fails because the infoROM of the device is corrupted.
func (c *Calls) CorruptInfoROM() bool {
	return slices.ContainsFunc(c.problems, func(p gpu.Problem) bool { return errors.Is(p.Err, CorruptInfoROM) })
}

func (c *Calls) note(f *Function, symbol string, code Code) bool {
	s := c.state[f]
	if s == nil {
		if code == OK {
			c.answered = true
			return true
		}
		s = &functionState{}
		c.state[f] = s
	}
	return c.Note(f, f.What, symbol, code, &s.retry, &s.refused)
}

// Refuse makes the function unsupported.
func (c *Calls) Refuse(f *Function) { c.OK(f, NotSupported) }

// RetryNext calls a function that failed again at the next read.
func (c *Calls) RetryNext(f *Function) {
	if s := c.state[f]; s != nil {
		s.retry.skip, s.refused = 0, false
	}
}

// Postpone retries a function that had no value ever less often.
func (c *Calls) Postpone(f *Function) {
	if c.state[f] == nil {
		c.state[f] = &functionState{}
	}
	c.state[f].retry.Fail()
}

// NotNeeded drops the problem of a function that failed and is not needed at present, so that it is not called again.
func (c *Calls) NotNeeded(f *Function) {
	if s := c.state[f]; s != nil && s.retry.noted && !s.refused {
		c.DropProblem(f)
		delete(c.state, f)
	}
}

// Note is OK for what is read with others in one call: key identifies it, and symbol is the function for the message.
func (c *Calls) Note(key any, name, symbol string, code Code, retry *Retry, refused *bool) bool {
	answer := code.Answer()
	switch answer {
	case DeviceGone, DriverGone:
		c.Fatal = code
		return false
	case Answered, NoValue:
		c.answered = true
	case Failed:
		c.changed = c.changed || !retry.Failing()
		retry.Fail()
	default:
		c.changed = c.changed || !*refused
		*refused = true
	}
	switch bad := answer == Denied || answer == Failed; {
	case bad && (!retry.noted || !c.hasProblem(key, code)):
		if retry.noted { // it has another reason now
			c.DropProblem(key)
		}
		c.AddProblem(key, name, fmt.Errorf("read %s (%s): %w", name, symbol, code))
	case !bad && retry.noted:
		c.DropProblem(key)
		retry.failures = 0
	}
	retry.noted = answer == Denied || answer == Failed
	return code == OK
}

// AddProblem adds a problem of the device, which persists until it is dropped by its key.
func (c *Calls) AddProblem(key any, subject string, err error) {
	c.problems = append(c.problems, gpu.Problem{Device: c.Device, What: subject, Err: fmt.Errorf("nvml: %s: %w", c.Device, err)})
	c.keys = append(c.keys, key)
}

// hasProblem reports whether the problem of a key has this return code.
func (c *Calls) hasProblem(key any, code Code) bool {
	i := slices.Index(c.keys, key)
	return i >= 0 && errors.Is(c.problems[i].Err, code)
}

// DropProblem drops the problem of a key.
func (c *Calls) DropProblem(key any) {
	if i := slices.Index(c.keys, key); i >= 0 {
		c.removeProblem(i)
	}
}

func (c *Calls) removeProblem(i int) {
	c.problems, c.keys = slices.Delete(c.problems, i, i+1), slices.Delete(c.keys, i, i+1)
}
