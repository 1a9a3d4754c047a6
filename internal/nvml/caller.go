// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// caller calls the functions of a steady read on a device: a GPU, or an instance, which shares the GPU's batch.
//
// A read makes the calls that the read before made, all in one step, before anything is made of their answers. Where an
// answer is wanted that was not forecast, the call is made then; one that was, and is not wanted any more, is not made again.
type caller struct {
	calls
	handle gonvml.Device
	device unsafe.Pointer // the same, as C has it
	batch  *callBatch

	wanted [numFunctions]bool // in this read
	ahead  [numFunctions]bool // the answer is there

	unidentified [numFunctions]bool // what has yet to say what the device is
}

// ask calls a function, unless its answer is there, and tells whether it brought a value.
func (c *caller) ask(f function) (*call, bool) {
	if !c.can(f) {
		return nil, false
	}
	answer := c.call(f)
	return answer, c.ok(f, answer.code())
}

// number and long ask for a number, unsigned int or unsigned long long. One with every bit set is none.
func (c *caller) number(f function) (value, bool) {
	answer, ok := c.ask(f)
	if !ok {
		return value{}, false
	}
	return unsigned(answer.number())
}

func (c *caller) long(f function) (value, bool) {
	answer, ok := c.ask(f)
	if !ok {
		return value{}, false
	}
	return long(answer.long())
}

// call calls a function, unless its answer is there.
func (c *caller) call(f function) *call {
	if c.foreseen(f) {
		return c.batch.of(f)
	}
	answer := c.prepare(f)
	c.batch.run(f)
	return answer
}

// foreseen tells whether the answer of a function that is wanted now is there.
func (c *caller) foreseen(f function) bool {
	there := c.ahead[f]
	c.wanted[f], c.ahead[f] = true, false
	return there
}

// askFor calls a function of which there are answers by argument.
func (c *caller) askFor(f function, argument int) (*call, bool) {
	answer := c.batch.prepare(f, c.device, int32(argument))
	c.batch.run(f)
	return answer, c.ok(f, answer.code())
}

// prepare makes the call of a function ready: its argument, and room for a list.
func (c *caller) prepare(f function) *call {
	b := c.batch
	p := b.prepare(f, c.device, shapes[f].argument)
	switch shapes[f].shape {
	case shapeList:
		p.list, p.count = b.processes[f-fnComputeProcesses].ready()
	case shapeSamples:
		p.list, p.count = b.samples[f-fnSamplesGeneral].ready()
	case shapeUsages:
		p.list, p.count = b.usages.ready()
	}
	return p
}

// forecast forgets the answers of the read before, and returns the functions that it called and that may be called again.
func (c *caller) forecast(into []function) []function {
	clear(c.ahead[:])
	for f := range numFunctions {
		if c.wanted[f] {
			c.wanted[f] = false
			if c.can(f) {
				into = append(into, f)
			}
		}
	}
	return into
}
