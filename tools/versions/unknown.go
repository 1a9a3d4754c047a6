// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// distinctive is a version that cannot mean anything else in a text.
var distinctive = regexp.MustCompile(`^v?\d+\.\d+\.\d+$`)

// unknownPlaces returns an error for each line that names one of the versions at no known place: the next update would miss it.
func unknownPlaces(root string, files []string, all []version) error {
	values := make([]string, len(all))
	for i, v := range all {
		var err error
		if values[i], err = v.decided(root); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range files {
		if name == "CHANGELOG.md" || filepath.Base(name) == "documentation.md" || deciding(name, all) { // mdatagen writes documentation.md
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // a file of the checkout
		if err != nil {
			return err
		}
		for number, line := range strings.Split(string(text), "\n") {
			for i, value := range values {
				if distinctive.MatchString(value) && names(line, value) && !known(name, line, value, all) {
					errs = append(errs, fmt.Errorf("%s:%d names %s, the version of %s, at a place that tools/versions does not know", name, number+1, value, all[i].name))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func deciding(name string, all []version) bool {
	for _, v := range all {
		if v.file == name {
			return true
		}
	}
	return false
}

func names(line, value string) bool {
	return strings.Contains(line, value) && regexp.MustCompile(`(^|[^0-9.])`+regexp.QuoteMeta(value)+`($|[^0-9.]|\.($|\D))`).MatchString(line)
}

// known reports whether a place covers the version in the line.
func known(name, line, value string, all []version) bool {
	for _, v := range all {
		for _, p := range v.places {
			if !p.contains(name) {
				continue
			}
			for _, m := range regexp.MustCompile(p.pattern).FindAllStringSubmatch(line, -1) {
				if m[1] == value {
					return true
				}
			}
		}
	}
	return false
}
