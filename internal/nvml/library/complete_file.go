// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The loader maps what the ELF headers promise without looking at the file's size. In a file that is truncated, or that an update of the
// driver is still writing, it then touches pages that are not there, and SIGBUS ends the process.

// ErrFileChanging is returned while the library's file is being written. It is loaded when it is the same in two reads.
var ErrFileChanging = errors.New("the file has changed since the last read, as it does during an update of the driver; " +
	"it is loaded when it no longer changes")

// errNotRegular is returned for an existing path that is not a regular file. The loader may wait for a FIFO without end, and while it does
// so the process cannot start threads.
var errNotRegular = errors.New("not a regular file")

// errOtherABI is returned for a library of another word size or byte order, which the loader passes over.
var errOtherABI = errors.New("the library is for another architecture")

// fileStamp changes when a file is written to or replaced. The zero stamp means that there is no file.
type fileStamp struct {
	device, inode  uint64
	size           int64
	written, moved syscall.Timespec
}

// fileChecker checks files before they are loaded. It remembers those that it saw, to know which of them change. The zero fileChecker is ready
// to use.
type fileChecker struct {
	stamps map[string]fileStamp // by path, when it was last checked
}

// check returns an error if loading the file could end the process: it has changed since it was last seen, or it is shorter than its
// headers say. A file that is not a library is left to the loader, which refuses it. The error is fs.ErrNotExist for a missing file,
// errNotRegular and errOtherABI.
func (c *fileChecker) check(path string) error {
	now, err := stampOf(path)
	before, hasBefore := c.stamps[path]
	if c.stamps == nil {
		c.stamps = map[string]fileStamp{}
	}
	c.stamps[path] = now
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.Open(path) //nolint:gosec // the library that the configuration or the loader names
	if err != nil {
		return nil // the loader refuses it, and says why
	}
	defer func() { _ = file.Close() }()
	switch err := checkComplete(file, now.size); {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case hasBefore && before != now:
		return fmt.Errorf("%s: %w", path, ErrFileChanging)
	}
	return nil
}

// stampOf returns fs.ErrNotExist if there is nothing that the loader would open, and errNotRegular.
func stampOf(path string) (fileStamp, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fileStamp{}, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return fileStamp{}, errNotRegular
	}
	stamp := fileStamp{size: info.Size()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		stamp.device, stamp.inode, stamp.written, stamp.moved = st.Dev, st.Ino, st.Mtim, st.Ctim
	}
	return stamp, nil
}

// checkComplete returns an error if the headers of a library name parts of the file that it does not have. It reads only the headers of the
// file, at most 4 MiB.
func checkComplete(file io.ReaderAt, size int64) error {
	var header elf.Header64
	if size < int64(binary.Size(header)) {
		return nil // the loader refuses it
	}
	if err := readAt(file, 0, &header); err != nil {
		return err
	}
	if !bytes.HasPrefix(header.Ident[:], []byte(elf.ELFMAG)) {
		return nil // the loader refuses it
	}
	if elf.Class(header.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(header.Ident[elf.EI_DATA]) != nativeData() {
		return errOtherABI
	}
	if end, ok := tableEnd(header.Shoff, header.Shnum, header.Shentsize); !ok || end > uint64(size) {
		return truncated("section headers", end, size)
	}
	end, ok := tableEnd(header.Phoff, header.Phnum, header.Phentsize)
	if !ok || end > uint64(size) {
		return truncated("program headers", end, size)
	}
	programs := make([]elf.Prog64, header.Phnum)
	if header.Phnum > 0 && int(header.Phentsize) != binary.Size(programs[0]) {
		return nil // the loader refuses it
	}
	if err := readAt(file, int64(header.Phoff), programs); err != nil {
		return err
	}
	for i := range programs {
		p := &programs[i]
		if end := p.Off + p.Filesz; p.Filesz > 0 && (end < p.Off || end > uint64(size)) {
			return truncated("segment", end, size)
		}
	}
	return nil
}

func readAt(file io.ReaderAt, offset int64, into any) error {
	err := binary.Read(io.NewSectionReader(file, offset, int64(binary.Size(into))), binary.NativeEndian, into)
	if err != nil {
		return fmt.Errorf("read the ELF headers: %w", err)
	}
	return nil
}

// tableEnd returns the end of a table of headers, and false if no file is that long.
func tableEnd(offset uint64, n, length uint16) (uint64, bool) {
	if n == 0 {
		return 0, true
	}
	end := offset + uint64(n)*uint64(length)
	return end, end >= offset
}

func truncated(part string, end uint64, size int64) error {
	return fmt.Errorf("the file is incomplete: its %s ends at byte %d, and the file contains %d bytes; it is not loaded, because that would end "+
		"the collector; wait for the update of the driver, or install the driver again", part, end, size)
}

func nativeData() elf.Data {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return elf.ELFDATA2LSB
	}
	return elf.ELFDATA2MSB
}
