// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package amdgpu

import (
	"io"
	"iter"
	"os"
	"path/filepath"
)

// dir is a directory, by its path. There is no amdgpu driver but on Linux; this is for what runs on simulated files.
type dir struct{ path string }

func openDir(path string) (*dir, error) {
	if _, err := os.ReadDir(path); err != nil {
		return nil, err
	}
	return &dir{path: path}, nil
}

func (d *dir) openBelow(name string) (*dir, error) { return openDir(filepath.Join(d.path, name)) }

func (*dir) close() {}

func (d *dir) read(name string, buf []byte) ([]byte, error) {
	f, err := os.Open(filepath.Join(d.path, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return buf[:n], err
}

func (d *dir) link(name string, buf []byte) ([]byte, error) {
	target, err := os.Readlink(filepath.Join(d.path, name))
	return append(buf[:0], target...), err
}

func (d *dir) names([]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		entries, err := os.ReadDir(d.path)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, entry := range entries {
			if !yield([]byte(entry.Name()), nil) {
				return
			}
		}
	}
}

// stamp would tell one directory from another that took its name.
type stamp struct{ device, inode uint64 }

func stampOf(path string) (stamp, error) {
	_, err := os.Stat(path)
	return stamp{}, err
}
