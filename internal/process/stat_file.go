// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
)

// statFile is a stat file that was read, or why it could not be.
type statFile struct {
	stat
	file *os.File // nil if it could not be read
	err  error
}

// readStat reads the stat file of a process from its start. It opens the file unless open is the file and belongs to a process that lives.
func readStat(root string, pid int64, open *os.File) statFile {
	if open != nil {
		if s, err := readStatFile(open); err == nil {
			return statFile{stat: s, file: open}
		}
		_ = open.Close() // the process has ended
	}
	f, err := os.Open(processFile(root, pid, "stat"))
	if err != nil {
		return statFile{err: err}
	}
	s, err := readStatFile(f)
	if err != nil {
		_ = f.Close()
		return statFile{err: err}
	}
	return statFile{stat: s, file: f}
}

func readStatFile(f *os.File) (stat, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return stat{}, err
	}
	buf := make([]byte, maxStat)
	n, err := f.Read(buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(buf[:n])
}
