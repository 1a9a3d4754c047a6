// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import "strings"

// maxText bounds a name that is taken over from a tool.
const maxText = 256

// Meaningful tells whether a text is a value, and not one of the tools' ways of saying that there is none: N/A,
// N/A (Secondary die), Not supported on the given system, UNKNOWN, None, an empty string.
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

// Label returns a text that is a value, trimmed and bounded, else the empty string.
func Label(s string) string {
	if !Meaningful(s) {
		return ""
	}
	return Bounded(strings.TrimSpace(s))
}

// Bounded returns the beginning of a text, in valid UTF-8: OTLP takes nothing else, and a process may give itself any name.
func Bounded(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxText)], "\uFFFD")
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "") // what was put in is longer than what it stands for
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Excerpt returns the beginning of a tool's output for an error message, on one line.
func Excerpt(b []byte) string {
	const limit = 120
	text := strings.Join(strings.Fields(string(b[:min(len(b), 4*limit)])), " ")
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
