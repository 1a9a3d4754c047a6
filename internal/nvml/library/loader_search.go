// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// searchPath is the search path of the dynamic loader for a library that is named without a directory (ld.so(8)).
type searchPath struct {
	environment string   // LD_LIBRARY_PATH
	cache       string   // the file that ldconfig writes
	directories []string // searched last
}

// defaultSearch is the search path of this process. The loader reads LD_LIBRARY_PATH when the process starts.
var defaultSearch = searchPath{
	environment: os.Getenv("LD_LIBRARY_PATH"),
	cache:       "/etc/ld.so.cache",
	directories: []string{
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/lib64", "/usr/lib64", "/lib", "/usr/lib",
	},
}

// candidates returns the files that the loader may find by a name, in its order. Not all of its ways are known here: it also searches
// directories for some processors, and directories that the executable names.
func (s *searchPath) candidates(name string) (files []string) {
	for directory := range strings.FieldsFuncSeq(s.environment, func(r rune) bool { return r == ':' || r == ';' }) {
		files = append(files, filepath.Join(directory, name))
	}
	files = append(files, cached(s.cache, name)...)
	for _, directory := range s.directories {
		files = append(files, filepath.Join(directory, name))
	}
	return files
}

// check checks the file that the loader would find by a name. If no file is found here, the loader decides alone.
func (s *searchPath) check(files *fileChecker, name string) error {
	for _, file := range s.candidates(name) {
		switch err := files.check(file); {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errOtherABI):
		default:
			return err
		}
	}
	return nil
}

const maxCacheSize = 16 << 20

// cacheMagic is at the start of the part of ld.so.cache that every glibc since 2.2 reads (struct cache_file_new).
var cacheMagic = []byte("glibc-ld.so.cache1.1")

const (
	cacheHeaderSize = 48
	cacheEntrySize  = 24
)

// cached returns the files that ld.so.cache has under a name.
func cached(cache, name string) (files []string) {
	file, err := os.Open(cache) //nolint:gosec // the loader's own cache
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxCacheSize))
	start := bytes.Index(data, cacheMagic)
	if err != nil || start < 0 || len(data)-start < cacheHeaderSize {
		return nil
	}
	data = data[start:]
	entries := data[cacheHeaderSize:]
	for range binary.NativeEndian.Uint32(data[len(cacheMagic):]) {
		if len(entries) < cacheEntrySize {
			break
		}
		key, value := binary.NativeEndian.Uint32(entries[4:]), binary.NativeEndian.Uint32(entries[8:])
		if cacheText(data, key) == name {
			files = append(files, cacheText(data, value))
		}
		entries = entries[cacheEntrySize:]
	}
	return files
}

func cacheText(data []byte, offset uint32) string {
	if uint64(offset) >= uint64(len(data)) {
		return ""
	}
	text, _, _ := bytes.Cut(data[offset:], []byte{0})
	return string(text)
}
