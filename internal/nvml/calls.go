// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// mostSkipped bounds for how many reads something that failed is left alone.
const mostSkipped = 32

// calls remembers what became of the calls on one device, so that nothing is asked again that is known to fail, and so
// that what stays wrong is told at every read without being asked.
type calls struct {
	has    *[numFunctions]bool // what the library exports
	device string              // for messages: the UUID, else the PCI address or index
	state  [numFunctions]trouble
	never  [numFunctions]bool // refused for good
	shares bool               // the device has no memory of its own but works in the system's

	// fatal ends a read: the device, or the whole driver, is gone.
	fatal code
	// problems that stand. A problem keeps its place and its error as long as it stays; keys says whose each is.
	problems []gpu.Problem
	keys     []int
}

// trouble spaces out the attempts at something that fails.
type trouble struct {
	noted bool // stands in problems
	skip  int  // reads for which it is left alone
	next  int  // for how many it will be, should it fail again
}

func (t *trouble) begin() {
	if t.skip > 0 {
		t.skip--
	}
}

func (t *trouble) failed() {
	t.next = min(2*t.next+1, mostSkipped)
	t.skip = t.next + 1 // begin takes one away before the next read asks
}

// reset forgets everything, because of another driver or another partitioning, but what is wrong with some functions.
func (c *calls) reset(but ...function) {
	for f := range numFunctions {
		if !slices.Contains(but, f) {
			c.state[f] = trouble{}
		}
	}
	c.never = [numFunctions]bool{}
	c.shares = false
	kept := 0
	for i, key := range c.keys {
		if key < int(numFunctions) && slices.Contains(but, function(key)) {
			c.problems[kept], c.keys[kept] = c.problems[i], key
			kept++
		}
	}
	c.problems, c.keys = c.problems[:kept], c.keys[:kept]
}

// begin starts a read.
func (c *calls) begin() {
	c.fatal = codeOK
	for i := range c.state {
		c.state[i].begin()
	}
}

// can tells whether calling the function makes sense.
func (c *calls) can(f function) bool {
	return c.has[f] && !c.never[f] && c.state[f].skip == 0 && c.fatal == codeOK
}

// supported tells whether the function is there and was not refused for good; it may be left alone at present.
func (c *calls) supported(f function) bool { return c.has[f] && !c.never[f] }

// ok takes note of what a call returned and tells whether it brought a value.
func (c *calls) ok(f function, ret code) bool {
	if ret == codeOK && !c.state[f].noted {
		return true
	}
	return c.take(int(f), f.what(), f.symbol(), ret, &c.state[f], &c.never[f])
}

// take is ok for whatever is asked: key tells it from everything else, symbol is the function for the message.
func (c *calls) take(key int, what, symbol string, ret code, t *trouble, never *bool) bool {
	a := ret.answer()
	switch a {
	case deviceGone, driverGone:
		c.fatal = ret
		return false
	case answered, nothing:
	case denied:
		*never = true
	case troubled:
		t.failed()
	default:
		*never = true
	}
	if bad := a == denied || a == troubled; bad != t.noted {
		if bad {
			c.problems = append(c.problems, gpu.Problem{
				Device: c.device,
				What:   what,
				Err:    fmt.Errorf("nvml: %s: read %s (%s): %w", c.device, what, symbol, ret),
			})
			c.keys = append(c.keys, key)
		} else {
			c.forget(key)
			t.next = 0
		}
		t.noted = bad
	}
	return ret == codeOK
}

// needless has nothing told of a function that failed and is not needed at present, so that it is not asked again.
func (c *calls) needless(f function) {
	if c.state[f].noted && !c.never[f] {
		c.forget(int(f))
		c.state[f] = trouble{}
	}
}

func (c *calls) forget(key int) {
	for i, k := range c.keys {
		if k == key {
			c.problems = append(c.problems[:i], c.problems[i+1:]...)
			c.keys = append(c.keys[:i], c.keys[i+1:]...)
			return
		}
	}
}
