// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const (
	maxLogBytes = 1 << 20
	maxReasons  = 4
	maxLines    = 5
)

// Reasons returns what a collector logged about failed reads, newest last: what could not be read, why, and the remedy.
func Reasons(log string) []string {
	var found []string
	for line := range strings.Lines(readEnd(log)) {
		i := strings.IndexByte(line, '{')
		if i < 0 {
			continue
		}
		var fields struct {
			What   string `json:"what"`
			Reason string `json:"reason"`
		}
		if json.Unmarshal([]byte(line[i:]), &fields) != nil || fields.Reason == "" {
			continue
		}
		reason, _, _ := strings.Cut(fields.Reason, "\n") // the log has the rest
		text := fmt.Sprintf("%s: %s", fields.What, reason)
		found = slices.DeleteFunc(found, func(f string) bool { return f == text })
		found = append(found, text)
	}
	return found[max(0, len(found)-maxReasons):]
}

// lastLines returns the end of a log for an error message.
func lastLines(log string) string {
	lines := strings.Split(strings.TrimSpace(readEnd(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
}

// readEnd returns at most the last MiB of a file, or nothing if it cannot be read.
func readEnd(path string) string {
	f, err := os.Open(path) //nolint:gosec // a developer's own command line
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	offset := max(0, info.Size()-maxLogBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, offset, maxLogBytes))
	if err != nil {
		return ""
	}
	return string(data)
}
