// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"regexp"
)

// advertised matches a line of the help that names a field: "uuid" or "gpu_uuid".
var advertised = regexp.MustCompile(`^"[^"\s]+"( or "[^"\s]+")*\s*$`)

var quotedName = regexp.MustCompile(`"([^"\s]+)"`)

// maxFields bounds the names that a help text may list. Driver 610 has 241 fields.
const maxFields = 4096

// Help reads the output of --help-query-gpu or --help-query-compute-apps. It returns the names of the fields that can be queried.
func Help(data []byte) map[string]bool {
	names := map[string]bool{}
	for line := range lines(clean(data)) {
		line = bytes.TrimSpace(line)
		if !advertised.Match(line) {
			continue
		}
		for _, m := range quotedName.FindAllSubmatch(line, -1) {
			if len(names) >= maxFields {
				return names
			}
			names[text(m[1])] = true
		}
	}
	return names
}
