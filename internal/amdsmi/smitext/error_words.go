// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"slices"
	"strings"
)

// errorWords are the prefixes of what the tools print if the driver answered with an error instead of a value. "Unable to detect fan speed"
// is not among them: rocm-smi prints it for a GPU without a fan.
var errorWords = [...]string{
	"err", "[unknown error]", "unknown error", "failed", "expected integer value", "amdsmi_status_", "rsmi_status_",
}

// notErrors are the error codes of the libraries by which the driver answers that a GPU does not have a quantity.
var notErrors = [...]string{"status_not_supported", "status_not_yet_implemented", "status_no_data"}

// IsError reports whether a tool printed that the driver answered with an error. N/A and the like are not errors: the GPU does not have the
// quantity.
func IsError(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	if slices.ContainsFunc(notErrors[:], func(code string) bool { return strings.Contains(s, code) }) {
		return false
	}
	return slices.ContainsFunc(errorWords[:], func(word string) bool { return strings.HasPrefix(s, word) })
}

// FirstError returns the first error within a value of the tools' JSON, in the order of the keys; empty if there is none.
func FirstError(v any) string {
	switch v := v.(type) {
	case string:
		if IsError(v) {
			return Bounded(strings.TrimSpace(v))
		}
	case []any:
		for _, inner := range v {
			if message := FirstError(inner); message != "" {
				return message
			}
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if message := FirstError(v[key]); message != "" {
				return message
			}
		}
	}
	return ""
}
