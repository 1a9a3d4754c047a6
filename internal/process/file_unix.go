// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// readFile reads the beginning of a file, up to the length of buf, with one read. It is the only read of a process that
// lives on, and goes past the os package, which asks the poller about every file it opens.
func readFile(name string, buf []byte) (int, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, &os.PathError{Op: "read", Path: name, Err: err}
		}
		return n, nil
	}
}
