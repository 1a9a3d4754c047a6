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

// statFiles opens, reads and closes the stat files of the process table at root.
type statFiles struct {
	root  string
	count int    // open files
	buf   []byte // of one stat file
}

// open opens the stat file of a process.
func (s *statFiles) open(pid int64) (*os.File, error) {
	f, err := os.Open(processFile(s.root, pid, "stat"))
	if err == nil {
		s.count++
	}
	return f, err
}

// close closes a stat file; f may be nil.
func (s *statFiles) close(f *os.File) {
	if f != nil {
		_ = f.Close()
		s.count--
	}
}

// read reads a stat file from its start; f may be nil. The name in the result is valid until the next call.
func (s *statFiles) read(f *os.File) (stat, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return stat{}, err
	}
	n, err := f.Read(s.buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(s.buf[:n])
}
