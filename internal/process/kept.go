// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "bytes"

// maxKept is how many processes have files kept open, at most two each.
const maxKept = 256

// longestName is more than the kernel writes into a process's file comm.
const longestName = 128

// kept is the open file comm of a process. It belongs to that one process, not to its number: as soon as the process is
// gone, reading it fails (ESRCH), also when another one has the number by then. So one small read tells that a process is
// still the one that was described; to open its stat file and have the kernel add up the process's threads costs ten times
// as much. A descriptor of the process itself tells the same at less (see watch).
type kept struct {
	fd   int
	life int // noLife where there is none
}

// keep opens the file of a process that is about to be looked at; nil where that is not possible.
func (r *Reader) keep(pid int64) *kept {
	if r.closed || r.open >= maxKept {
		return nil
	}
	fd, err := keepFile(r.path(pid, "comm"))
	if err != nil {
		return nil
	}
	r.open++
	k := &kept{fd: fd, life: noLife}
	if r.ownNamespace() {
		k.life = r.lives.open(pid)
	}
	return k
}

// drop closes the file of a process.
func (r *Reader) drop(k *kept) {
	closeFile(k.fd)
	if k.life != noLife {
		r.lives.forget(k.life)
	}
	r.open--
}

// name reads the name that the process has now into buf; false where the process is gone.
func (k *kept) name(buf []byte) ([]byte, bool) {
	if k == nil {
		return nil, false
	}
	n, err := rereadFile(k.fd, buf[:longestName])
	if err != nil || n == 0 {
		return nil, false
	}
	return bytes.TrimSuffix(buf[:n], []byte("\n")), true
}

// release closes the file of an entry, if it has one.
func (r *Reader) release(e *entry) {
	if e != nil && e.kept != nil {
		r.drop(e.kept)
		e.kept = nil
	}
}

// Close closes all files. A closed Reader still describes, and keeps none open.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, e := range r.processes {
		r.release(e)
	}
	r.lives.close()
}
