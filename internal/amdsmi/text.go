// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"math"
	"strconv"
	"strings"
)

// maxText bounds a name that is taken over from a tool.
const maxText = 256

// meaningful tells whether a text is a value, and not one of the tools' ways of saying that there is none: N/A,
// N/A (Secondary die), Not supported on the given system, UNKNOWN, None, an empty string.
func meaningful(s string) bool {
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

// label returns a text that is a value, trimmed and bounded, else the empty string.
func label(s string) string {
	if !meaningful(s) {
		return ""
	}
	return bounded(strings.TrimSpace(s))
}

// bounded returns the beginning of a text, in valid UTF-8: OTLP takes nothing else, and a process may give itself any name.
func bounded(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxText)], "\uFFFD")
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "") // what was put in is longer than what it stands for
}

// model returns a device's name in words. Without the PCI id list the tools print the vendor's or the device's number
// in its place.
func model(candidates ...string) string {
	for _, c := range candidates {
		if c = label(c); c != "" && !strings.HasPrefix(c, "0x") {
			return c
		}
	}
	return ""
}

// serial returns a serial number. All zeros is how an unwritten one reads.
func serial(s string) string {
	s = label(s)
	if strings.Trim(strings.TrimPrefix(s, "0x"), "0") == "" {
		return ""
	}
	return s
}

// driverVersion returns the version of the amdgpu module. Where it is the kernel's own, amd-smi prints /proc/version with
// the blanks removed: "Linuxversion6.8.0-79-generic(buildd@…".
func driverVersion(s string) string {
	s = label(s)
	rest, ok := strings.CutPrefix(s, "Linux")
	if !ok {
		return s
	}
	rest = strings.TrimSpace(rest)
	if rest, ok = strings.CutPrefix(rest, "version"); !ok {
		return s
	}
	rest = strings.TrimSpace(rest)
	if end := strings.IndexAny(rest, " ("); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// gfxTarget returns the compute target, such as gfx942. Where the middle part of a version is 0, rocm-smi 6 prints the last
// as two decimal digits: gfx9010 for gfx90a, gfx11003 for gfx1103.
func gfxTarget(s string) string {
	s = strings.ToLower(label(s))
	digits, ok := strings.CutPrefix(s, "gfx")
	if !ok || len(digits) < 3 || len(digits) > 5 || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	middle := len(digits) - 3
	if digits[middle] == '0' && (middle == 2 || middle == 1 && digits[0] == '9') {
		if n, err := strconv.ParseUint(digits[middle+1:], 10, 8); err == nil && n < 16 {
			return "gfx" + digits[:middle+1] + strconv.FormatUint(n, 16)
		}
	}
	return s
}

// leadingNumber returns the number with which a text begins, and what follows it.
func leadingNumber(s string) (value float64, rest string, ok bool) {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) {
		c := s[end]
		switch {
		case c >= '0' && c <= '9', c == '.':
		case (c == '-' || c == '+') && end == 0:
		case (c == 'e' || c == 'E') && end > 0 && end+1 < len(s) && isExponent(s[end+1:]):
		case (c == '-' || c == '+') && (s[end-1] == 'e' || s[end-1] == 'E'):
		default:
			value, ok = parseFloat(s[:end])
			return value, strings.TrimSpace(s[end:]), ok
		}
		end++
	}
	value, ok = parseFloat(s)
	return value, "", ok
}

// isExponent tells an exponent from a word that begins with an E.
func isExponent(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return s != "" && s[0] >= '0' && s[0] <= '9'
}

func parseFloat(s string) (float64, bool) {
	if s == "" || strings.HasPrefix(s, "0x") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// excerpt returns the beginning of a tool's output for an error message, on one line.
func excerpt(b []byte) string {
	const limit = 120
	text := strings.Join(strings.Fields(string(b[:min(len(b), 4*limit)])), " ")
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
