// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

// version is a version, the file that decides it, and the places that name it.
type version struct {
	name    string
	file    string
	pattern string // its group is the version
	places  []place
}

// decided reads the version from the file that decides it.
func (v version) decided(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, v.file)) //nolint:gosec // a file of the checkout
	if err != nil {
		return "", fmt.Errorf("read the version of %s: %w", v.name, err)
	}
	found := regexp.MustCompile(v.pattern).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("read the version of %s: %s contains nothing like %s", v.name, v.file, v.pattern)
	}
	return string(found[1]), nil
}

// place is a place that names a version.
type place struct {
	files   string // a glob of paths below the root, or of names in all directories
	pattern string // its group is the version
}

// write writes the version into each file of the place. A place without any is an error: then its pattern is out of date.
func (p place) write(root string, files []string, value string) error {
	pattern := regexp.MustCompile(p.pattern)
	places := 0
	for _, name := range files {
		if !p.contains(name) {
			continue
		}
		file := filepath.Join(root, name)
		text, err := os.ReadFile(file) //nolint:gosec // a file of the checkout
		if err != nil {
			return err
		}
		written, n := replaceGroup(pattern, string(text), value)
		places += n
		if written == string(text) {
			continue
		}
		if err := os.WriteFile(file, []byte(written), 0o644); err != nil { //nolint:gosec // committed, so readable for every user
			return err
		}
	}
	if places == 0 {
		return fmt.Errorf("no file of %s contains %s", p.files, p.pattern)
	}
	return nil
}

// contains reports whether a file belongs to the place.
func (p place) contains(name string) bool {
	if matched, _ := path.Match(p.files, name); matched {
		return true
	}
	matched, _ := path.Match(p.files, path.Base(name))
	return matched
}

// replaceGroup replaces what the first group of a pattern matches, and returns how many there are.
func replaceGroup(pattern *regexp.Regexp, text, value string) (string, int) {
	var written []byte
	end := 0
	matches := pattern.FindAllStringSubmatchIndex(text, -1)
	for _, m := range matches {
		written = append(written, text[end:m[2]]...)
		written = append(written, value...)
		end = m[3]
	}
	return string(append(written, text[end:]...)), len(matches)
}
