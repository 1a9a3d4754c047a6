// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const (
	mostLogBytes = 1 << 20
	mostReasons  = 4
)

// reasons returns what the collector logged about failed reads, newest last: what could not be read, why, and the remedy.
func reasons(log string) []string {
	f, err := os.Open(log) //nolint:gosec // a developer's own command line
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, mostLogBytes))
	if err != nil {
		return nil
	}
	var found []string
	for line := range strings.Lines(string(data)) {
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
	return found[max(0, len(found)-mostReasons):]
}
