// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// noLife stands for no descriptor.
const noLife = -1

// maxNames is how many names are read at each Describe of processes that are known to go on. A process may give itself
// another name and command line, or execute another program; where there are more, each is looked at in its turn. To read
// a name costs the kernel some 2 µs, to tell that a process goes on less than a tenth of it.
const maxNames = 8

// watch finds the processes that go on and whose names are not to be read this time, with one system call for all.
func (r *Reader) watch(processes []gpu.Process) {
	r.lives.reset()
	asked := r.asked[:0]
	for i := range processes {
		e := r.processes[processes[i].PID]
		// One that was not among the last Describe's may have become another program while it used no GPU.
		if e == nil || e.kept == nil || e.kept.life == noLife || e.generation != r.generation-1 || e.kept.asked == r.generation {
			continue
		}
		e.kept.asked = r.generation
		r.lives.add(e.kept.life)
		asked = append(asked, e)
	}
	if len(asked) > maxNames && r.lives.ask() {
		r.turn %= len(asked)
		for i, e := range asked {
			theirs := (i-r.turn+len(asked))%len(asked) < maxNames
			if !theirs && r.lives.goesOn(i) {
				e.kept.alive = r.generation
			}
		}
		r.turn += maxNames
	}
	clear(asked)
	r.asked = asked[:0]
}

// goesOn tells that the process was seen to go on and that its name is not to be read this time.
func (r *Reader) goesOn(e *entry) bool { return e.kept != nil && e.kept.alive == r.generation }

// ownNamespace tells whether the process table gives processes the numbers that the kernel takes from this one. Of the PID
// namespaces from that of the table to that of this process, status has a number for each (proc_pid_status(5), NSpid).
func ownNamespace(root string) bool {
	status, err := readBounded(root+"/self/status", maxStatus)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(status) {
		if numbers, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			return len(bytes.Fields(numbers)) == 1
		}
	}
	return false
}
