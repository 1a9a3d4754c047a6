// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

// splitPath splits the path of a file that a source reads into the PCI function and the name below it.
func splitPath(path string) (address, name string) {
	dir := path
	for !scan.IsPCIAddress(filepath.Base(dir)) && dir != "/" {
		dir = filepath.Dir(dir)
	}
	return filepath.Base(dir), strings.TrimPrefix(path, dir+"/")
}

// readNames reads files and notes their names.
type readNames struct {
	mu    sync.Mutex
	names []string
}

func (f *readNames) read(path string) ([]byte, error) {
	_, name := splitPath(path)
	f.mu.Lock()
	f.names = append(f.names, name)
	f.mu.Unlock()
	return sysfs.Read(path)
}

// wasRead reports whether a file was read.
func (f *readNames) wasRead(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.names, name)
}

func (f *readNames) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = nil
}

// refusals refuses files by name, and notes the names of all.
type refusals struct {
	readNames
	refuse sync.Map // name → error
}

func (r *refusals) read(path string) ([]byte, error) {
	text, err := r.readNames.read(path)
	_, name := splitPath(path)
	if refusal, ok := r.refuse.Load(name); ok {
		return nil, refusal.(error)
	}
	return text, err
}

// refuseOf refuses files of one GPU.
func refuseOf(source *Source, address string, answer func(name string) error) {
	source.readFile = func(path string) ([]byte, error) {
		if function, name := splitPath(path); function == address {
			if err := answer(name); err != nil {
				return nil, err
			}
		}
		return sysfs.Read(path)
	}
}
