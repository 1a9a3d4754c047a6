// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CheckSafe returns an error if a user other than root and the collector's user could replace a tool or a library: if a directory of its
// path, or of the path to which symbolic links lead, belongs to another user or is writable by others. In a sticky directory of root, such
// as /tmp, a user cannot replace the files of another user.
func CheckSafe(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err = checkOwner(real, false); err != nil {
		return err
	}
	for _, p := range []string{path, real} {
		for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
			if err = checkOwner(dir, true); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return nil
}

func checkOwner(path string, directory bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	owner := uint32(0)
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = s.Uid
	}
	switch {
	case owner != 0 && int(owner) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, who could replace the file; it must belong to root or to the collector's user", path, owner)
	case info.Mode().Perm()&0o022 == 0, directory && owner == 0 && info.Mode()&fs.ModeSticky != 0:
		return nil
	default:
		return fmt.Errorf("%s is writable by others (%s), who could replace the file; run chmod go-w on it", path, info.Mode().Perm())
	}
}
