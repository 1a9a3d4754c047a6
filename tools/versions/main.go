// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command versions writes the versions that one file decides into every other file that names them: `make generate`.
//
//	versions ROOT
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: versions ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1], versions); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

func run(root string, all []version) error {
	files, err := named(root)
	if err != nil {
		return err
	}
	for _, v := range all {
		value, err := v.decided(root)
		if err != nil {
			return err
		}
		for _, p := range v.places {
			if err := p.write(root, files, value); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
	}
	return unknownPlaces(root, files, all)
}

// named returns the files that may name a version: documentation, manifests and configurations of the checkout, without test data.
func named(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error { //nolint:gosec // the checkout that the developer names
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || name == "dist" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".md", ".yaml", ".tsv":
			files = append(files, name)
		}
		return nil
	})
	return files, err
}
