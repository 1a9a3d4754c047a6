// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxText bounds a name from a tool, in bytes.
const maxText = 256

// Meaningful reports whether a text is a value. The tools print several texts for a missing value: N/A, N/A (Secondary die), Not supported
// on the given system, UNKNOWN, None, an empty string.
func Meaningful(s string) bool {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return false
	case hasPrefixFold(s, "n/a"), hasPrefixFold(s, "not supported"), hasPrefixFold(s, "unsupported"),
		hasPrefixFold(s, "unable to"), hasPrefixFold(s, "not found"), strings.EqualFold(s, "unknown"),
		strings.EqualFold(s, "none"), strings.EqualFold(s, "null"):
		return false
	}
	return true
}

// Label returns a text, trimmed and bounded; empty if it is not Meaningful.
func Label(s string) string {
	if !Meaningful(s) {
		return ""
	}
	return Bounded(strings.TrimSpace(s))
}

// Bounded returns the beginning of a text as it may be sent: a process can give itself any name.
func Bounded(s string) string {
	return gpu.BoundedText(s, maxText)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Excerpt returns the beginning of a tool's output on one line, for an error message.
func Excerpt(b []byte) string {
	const limit = 120
	text := strings.Join(strings.Fields(string(b[:min(len(b), 4*limit)])), " ")
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
