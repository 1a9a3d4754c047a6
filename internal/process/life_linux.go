// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lives asks of many processes at once whether they go on. Their number's meaning cannot change in between: a file
// descriptor of a process (pidfd_open(2), Linux 5.3) is of that one process for good.
type lives struct{ fds []unix.PollFd }

// openLife opens a descriptor of a process; noLife where the kernel has none or does not allow it.
func openLife(pid int64) int {
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return noLife
	}
	return fd
}

func (l *lives) reset() { l.fds = l.fds[:0] }

// add has the next call of ask ask about one more process.
func (l *lives) add(life int) {
	l.fds = append(l.fds, unix.PollFd{Fd: int32(life), Events: unix.POLLIN})
}

// ask asks, without waiting; false where nothing is known.
func (l *lives) ask() bool {
	for {
		_, err := unix.Poll(l.fds, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// goesOn is the answer about one of those that were added: a descriptor is ready once its process has ended.
func (l *lives) goesOn(i int) bool { return l.fds[i].Revents == 0 }
