// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
)

// The stat file of a process stays open while the process is known. It belongs to the process, not to the PID: after the process has
// ended, reading fails (ESRCH), even if another process has the PID. Reading an open file takes half the time of opening and reading it,
// which is a third of a scrape with 512 processes.

// maxOpen bounds the stat files that stay open. It is the default of max_processes.
const maxOpen = 512

// openStat opens the stat file of a process.
func (r *Reader) openStat(pid int64) (*os.File, error) {
	f, err := os.Open(r.path(pid, "stat"))
	if err == nil {
		r.open++
	}
	return f, err
}

// closeStat closes a stat file; f may be nil.
func (r *Reader) closeStat(f *os.File) {
	if f != nil {
		_ = f.Close()
		r.open--
	}
}

// readStat reads a stat file from its start; f may be nil. The name in the result is valid until the next call.
func (r *Reader) readStat(f *os.File) (stat, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return stat{}, err
	}
	n, err := f.Read(r.buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(r.buf[:n])
}

// Close closes all files. A closed Reader still describes processes, but keeps no file open.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, p := range r.processes {
		r.closeStat(p.stat)
		p.stat = nil
	}
}
