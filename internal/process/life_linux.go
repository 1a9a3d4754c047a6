// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lives tells which of many processes have ended, in one system call that costs the same for any number of them. A file
// descriptor of a process (pidfd_open(2), Linux 5.3) is of that one process for good, whoever has its number later.
type lives struct {
	epoll  int // 0: not made yet
	events [16]unix.EpollEvent
}

// open begins to watch a process and returns its descriptor; noLife where the kernel has none or does not allow it.
func (l *lives) open(pid int64) int {
	if l.epoll == 0 {
		fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return noLife
		}
		l.epoll = fd
	}
	life, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return noLife
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(life), Pad: int32(pid)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, life, &event); err != nil {
		closeFile(life)
		return noLife
	}
	return life
}

// forget ends the watch and closes the descriptor. To close it would not be enough: a program that is just being started has a copy,
// and by the time that the process ends the number may be that of another file.
func (l *lives) forget(life int) {
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, life, nil)
	closeFile(life)
}

// ended calls gone with each process that has ended. It must forget the descriptor, or will be called with it again. False: nothing
// is known.
func (l *lives) ended(gone func(pid int64, life int)) bool {
	if l.epoll == 0 {
		return false
	}
	for {
		n, err := unix.EpollWait(l.epoll, l.events[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false
		}
		for _, event := range l.events[:n] {
			gone(int64(event.Pad), int(event.Fd))
		}
		if n < len(l.events) {
			return true
		}
	}
}

func (l *lives) close() {
	if l.epoll != 0 {
		closeFile(l.epoll)
		l.epoll = 0
	}
}
