// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"errors"
	"strconv"
	"strings"
)

// ErrFormat is returned for a file whose content does not have the format that the driver writes.
var ErrFormat = errors.New("unexpected format")

// ParseUint parses a decimal number with white space around it and nothing else.
func ParseUint(text string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

// ParseInt parses a decimal number that may be negative, with white space around it and nothing else.
func ParseInt(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

// ParseHex parses a hexadecimal number of 64 bits, with or without 0x.
func ParseHex(text string) (uint64, bool) {
	digits := strings.ToLower(strings.TrimSpace(text))
	n, err := strconv.ParseUint(strings.TrimPrefix(digits, "0x"), 16, 64)
	return n, err == nil
}

// Label returns a line of text; empty for the placeholders that the driver and firmware write.
func Label(text string) string {
	s := strings.TrimSpace(text)
	switch strings.ToLower(s) {
	case "n/a", "na", "none", "unknown", "not supported":
		return ""
	}
	for _, r := range s {
		if r < ' ' || r == '\uFFFD' {
			return ""
		}
	}
	return s
}
