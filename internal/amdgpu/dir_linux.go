// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"

	"golang.org/x/sys/unix"
)

// dir is an open directory. Files are opened below it, read and closed each time: without a walk of the whole path, which
// is what costs, and without a descriptor per file to hold. An open directory of sysfs keeps nothing from being removed.
type dir struct{ fd int }

func openDir(path string) (*dir, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		default:
			return &dir{fd: fd}, nil
		}
	}
}

// openBelow opens a directory below this one.
func (d *dir) openBelow(name string) (*dir, error) {
	for {
		fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		default:
			return &dir{fd: fd}, nil
		}
	}
}

func (d *dir) close() {
	if d != nil {
		_ = unix.Close(d.fd)
	}
}

// page is what sysfs gives of a binary file at a time, or a multiple of it.
const page = 4096

// read reads a file below the directory into buf, as far as it goes. The files of sysfs and procfs come in one piece,
// so that a short read is the end; binary ones in pages.
func (d *dir) read(name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	total := 0
	for {
		n, err := unix.Read(fd, buf[total:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			_ = unix.Close(fd)
			return nil, err
		}
		total += n
		if n == 0 || total%page != 0 || total == len(buf) {
			_ = unix.Close(fd)
			return buf[:total], nil
		}
	}
}

// link reads where a symbolic link below the directory leads.
func (d *dir) link(name string, buf []byte) ([]byte, error) {
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// names yields the names in the directory, from its beginning. A name is valid until the next. The error is that of the
// reading, once, with no name.
func (d *dir) names(buf []byte) iter.Seq2[[]byte, error] {
	const (
		offsetLength = 16 // of struct linux_dirent64
		offsetName   = 19
	)
	return func(yield func([]byte, error) bool) {
		if _, err := unix.Seek(d.fd, 0, unix.SEEK_SET); err != nil {
			yield(nil, err)
			return
		}
		for {
			n, err := unix.Getdents(d.fd, buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if n <= 0 {
				return
			}
			for rest := buf[:n]; len(rest) > offsetName; {
				length := int(binary.NativeEndian.Uint16(rest[offsetLength:]))
				if length <= offsetName || length > len(rest) {
					return
				}
				name := rest[offsetName:length]
				for i, c := range name {
					if c == 0 {
						name = name[:i]
						break
					}
				}
				rest = rest[length:]
				if string(name) == "." || string(name) == ".." {
					continue
				}
				if !yield(name, nil) {
					return
				}
			}
		}
	}
}

// stamp tells one directory from another that took its name: the driver, loaded anew, makes new ones.
type stamp struct{ device, inode uint64 }

func stampOf(path string) (stamp, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	for errors.Is(err, unix.EINTR) {
		err = unix.Stat(path, &st)
	}
	if err != nil {
		return stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return stamp{device: st.Dev, inode: st.Ino}, nil
}
