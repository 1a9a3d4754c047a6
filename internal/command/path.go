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

// place is a directory that may contain a tool, with the directory of the libraries of that tool.
type place struct {
	dir       string
	libraries string // LD_LIBRARY_PATH; empty if the loader knows them
}

// ValidatePath checks the configured path of a tool. It must be empty, or absolute and end with the tool's own name, so that a
// configuration cannot make the Collector run another program.
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

// find returns the tool's executable and the path of its libraries. An empty configured path searches the places.
func find(tool Tool, configured string, places []place) (path, libraries string, err error) {
	if configured != "" {
		if err = checkExecutable(configured); err != nil {
			return "", "", fmt.Errorf("%w: %w; install the driver's tools, or correct the configured path", ErrNotFound, err)
		}
		return configured, "", nil
	}
	var unusable error
	var dirs []string
	for _, p := range places {
		path = filepath.Join(p.dir, executable(tool))
		err = checkExecutable(path)
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
		return "", "", fmt.Errorf("%w: %s does not exist for this operating system; set path", ErrNotFound, tool)
	}
	return "", "", fmt.Errorf("%w: no %s in %s; install the driver's tools, or set path",
		ErrNotFound, executable(tool), strings.Join(dirs, ", "))
}

// checkExecutable returns an error if a file cannot be executed, or if users other than root and the collector's user could replace it.
func checkExecutable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case !mayExecute(info.Mode()):
		return fmt.Errorf("%s is not executable", path)
	}
	return CheckSafe(path)
}
