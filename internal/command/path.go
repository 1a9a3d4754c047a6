// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ValidatePath checks a configured path of a tool: empty, or absolute and ending with the tool's own name, so that a
// configuration cannot make the Collector run something else.
func ValidatePath(tool Tool, path string) error {
	switch {
	case path == "":
		return nil
	case !filepath.IsAbs(path):
		return fmt.Errorf("%q must be an absolute path that ends with %s", path, executable(tool))
	case !sameName(filepath.Base(path), executable(tool)), strings.HasSuffix(path, string(filepath.Separator)):
		return fmt.Errorf("%q must end with %s: no other program is run", path, executable(tool))
	}
	return nil
}

// find returns the tool's executable and the libraries it needs.
func (l *Local) find() (path, libraries string, err error) {
	if l.path != "" {
		if err = runnable(l.path); err != nil {
			return "", "", fmt.Errorf("%w: %w; install the driver's tools, or correct the configured path", ErrNotFound, err)
		}
		return l.path, "", nil
	}
	var unusable error
	dirs := make([]string, 0, len(l.places))
	for _, p := range l.places {
		path = filepath.Join(p.dir, executable(l.tool))
		err = runnable(path)
		if err == nil {
			return path, p.libraries, nil
		}
		if unusable == nil && !errors.Is(err, fs.ErrNotExist) {
			unusable = err
		}
		dirs = append(dirs, p.dir)
	}
	if unusable != nil {
		return "", "", fmt.Errorf("%w: %w", ErrNotFound, unusable)
	}
	if len(dirs) == 0 {
		return "", "", fmt.Errorf("%w: %s does not exist for this operating system; set path", ErrNotFound, l.tool)
	}
	return "", "", fmt.Errorf("%w: no %s in %s; install the driver's tools, or set path",
		ErrNotFound, executable(l.tool), strings.Join(dirs, ", "))
}

// runnable tells why a file cannot be executed.
func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case !mayExecute(info.Mode()):
		return fmt.Errorf("%s is not executable", path)
	}
	return nil
}
