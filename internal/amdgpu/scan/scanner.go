// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"path/filepath"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

// scanner reads a part of an inventory.
type scanner struct {
	cards     Cards
	topology  Topology
	root      string
	fileLimit error
}

func (s *scanner) path(parts ...string) string {
	return filepath.Join(append([]string{s.root}, parts...)...)
}

// read reads a file below the root.
func (s *scanner) read(parts ...string) (string, error) {
	text, err := sysfs.Read(s.path(parts...))
	s.note(err)
	return string(text), err
}

// note remembers that no further file may be opened.
func (s *scanner) note(err error) { s.fileLimit = cmp.Or(s.fileLimit, sysfs.FileLimit(err)) }
