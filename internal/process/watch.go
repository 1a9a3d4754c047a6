// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "bytes"

// noLife stands for no descriptor.
const noLife = -1

// maxNames is how many names are read at each Describe of processes that are known to go on. A process may give itself
// another name and command line, or execute another program; where there are more, each is looked at in its turn. To read
// a name costs the kernel some 2 µs, to tell which of all processes have ended less than one.
const maxNames = 8

// watch lets go of the processes that have ended, and begins with the turns of the others.
func (r *Reader) watch() {
	r.watched = r.lives.ended(func(pid int64, life int) {
		if e := r.processes[pid]; e != nil && e.kept != nil && e.kept.life == life {
			r.release(e)
		}
	})
	r.turn.next()
}

// goesOn tells that the process is known to go on and that its name is not to be read this time.
func (r *Reader) goesOn(e *entry) bool {
	if !r.watched || e.kept == nil || e.kept.life == noLife {
		return false
	}
	theirs := r.turn.take()
	// One that was not among the last Describe's may have become another program while it used no GPU.
	return !theirs && e.generation == r.generation-1
}

// turns says whose name is read, of processes that come in the same order each time.
type turns struct {
	first int // the first whose turn it is
	taken int // how many have come
	count int // how many came the last time
}

func (t *turns) next() {
	if t.first += maxNames; t.first >= t.taken {
		t.first = 0
	}
	t.count, t.taken = t.taken, 0
}

// take tells the next one whether it is its turn.
func (t *turns) take() bool {
	i := t.taken
	t.taken++
	return t.count <= maxNames || (i-t.first+t.count)%t.count < maxNames
}

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
