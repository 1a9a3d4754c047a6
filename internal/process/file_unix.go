// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// readFile reads the beginning of a file, up to the length of buf, with one read. It goes past the os package, which
// asks the poller about every file it opens.
func readFile(name string, buf []byte) (int, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := rereadFile(fd, buf)
	if err != nil {
		return 0, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return n, nil
}

// keepFile opens a file that is to be read again and again.
func keepFile(name string) (fd int, err error) {
	return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// rereadFile reads the beginning of an open file, up to the length of buf, with one read.
func rereadFile(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Pread(fd, buf, 0)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func closeFile(fd int) { _ = unix.Close(fd) }
