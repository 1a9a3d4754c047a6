// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

// maxSkipped is the most reads that are left out between two looks for a driver that is not there.
const maxSkipped = 9

// idle is why there was nothing to read. It spreads the starts of a tool that finds nothing: a Python program is a lot to
// run every interval for that.
type idle struct {
	reason  error
	absent  bool // the driver or its GPUs are known not to be there
	pause   int  // reads left out after the next failure
	skipped int  // reads still to leave out
}

// skip tells whether this read is left out.
func (i *idle) skip() bool {
	if i.skipped == 0 {
		return false
	}
	i.skipped--
	return true
}

func (i *idle) failed(reason error, absent bool) {
	i.reason, i.absent = reason, absent
	i.skipped = i.pause
	i.pause = min(2*i.pause+1, maxSkipped)
}

func (i *idle) succeeded() { *i = idle{} }
