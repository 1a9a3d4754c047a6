// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// attempts bounds how often a list is asked for that grows while it is read.
const attempts = 4

// sampleList reads the samples of an engine that are newer than a time, 0 for all. The result is valid until the next call.
func (c *caller) sampleList(e engine, since uint64) (samples []sample, valueType uint32, ret code) {
	f := engines[e].samples
	room := &c.batch.samples[e]
	if !c.ahead[f] {
		if since == 0 || room.p == nil {
			// How many the driver keeps.
			answer := c.batch.prepare(f, c.device, shapes[f].argument)
			answer.list, answer.since, answer.count = nil, 0, 0
			c.batch.run(f)
			if ret := answer.code(); ret != codeOK {
				c.wanted[f] = true
				return nil, 0, ret
			}
			room.want = int(answer.count)
		}
		c.batch.of(f).from(since)
	}
	answer := c.call(f)
	if ret := answer.code(); ret != codeOK {
		return nil, 0, ret
	}
	if int(answer.count) >= room.room {
		room.want = min(room.room+1, mostRoom) // it may have more than there was room for
	}
	return room.first(int(answer.count)), uint32(answer.kind), codeOK
}

// usageList reads the samples of the processes that are newer than a time. The result is valid until the next call.
func (c *caller) usageList(since uint64) ([]gonvml.ProcessUtilizationSample, code) {
	room := &c.batch.usages
	if !c.ahead[fnProcessUtilization] {
		c.batch.of(fnProcessUtilization).from(since)
	}
	for range attempts {
		answer := c.call(fnProcessUtilization)
		switch ret := answer.code(); ret {
		case codeOK:
			return room.first(int(answer.count)), ret
		case codeInsufficientSize:
			room.want = max(int(answer.count), room.room+1)
		default:
			return nil, ret
		}
	}
	return nil, codeInsufficientSize
}
