// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package sysfs reads the small files and the directories of /sys and /proc.
//
// An error is the kernel's bare answer (syscall.Errno): callers name the file themselves.
package sysfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

const (
	// page is what sysfs gives of a file in one read: of a binary file at most, of others all that there is.
	page = 4096
	// maxFile bounds what is read of one file, in bytes. A gpu_metrics table has less than 16 KiB.
	maxFile = 16 * page
)

// Read returns the content of a file, at most 64 KiB of it. A read of less than a page is the end of a file and no further read is
// tried, since the driver asks the GPU again for each: pages are as large as can be for the same reason.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // below the root that is configured
	if err != nil {
		return nil, Errno(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	text := make([]byte, page)
	for total := 0; ; {
		n, err := f.Read(text[total:])
		total += n
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, Errno(err)
		case n == 0, total%page != 0, total == maxFile:
			return text[:total], nil
		case total == len(text):
			text = append(text, make([]byte, page)...)
		}
	}
}

// Names returns names of files in a directory, at most limit of them, in the order of the kernel. With an error it returns
// those that were read before it.
func Names(dir string, limit int) ([]string, error) {
	f, err := os.Open(dir) //nolint:gosec // below the root that is configured
	if err != nil {
		return nil, Errno(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	names, err := f.Readdirnames(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, Errno(err)
}

// Errno returns the kernel's answer in an error of package os; another error as it is.
func Errno(err error) error {
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// FileLimit returns an error with the remedy if err says that this process, or the machine, may open no further file; else nil. A read with
// this error is not a fault of any GPU, and is not reliable: GPUs would seem to be lost.
func FileLimit(err error) error {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return nil
	}
	return fmt.Errorf("amdgpu: %w; raise the limit of open files (LimitNOFILE= of a systemd unit, ulimit -n), or find out what"+
		" holds so many", err)
}
