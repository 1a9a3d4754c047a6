// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package display formats values for a terminal: units, tables, and untrusted names.
package display // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// CleanJSON replaces, within JSON, each character that a terminal could obey by its escape \uXXXX. The value stays the same.
func CleanJSON(json []byte) []byte {
	clean := make([]byte, 0, len(json))
	for _, r := range string(json) {
		switch {
		case r == '\n' || gpu.Printable(r):
			clean = utf8.AppendRune(clean, r)
		case r > 0xffff:
			hi, lo := surrogates(r)
			clean = fmt.Appendf(clean, `\u%04x\u%04x`, hi, lo)
		default:
			clean = fmt.Appendf(clean, `\u%04x`, r)
		}
	}
	return clean
}

func surrogates(r rune) (hi, lo rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}

// CleanLines cleans each line of a text.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = gpu.CleanText(lines[i])
	}
	return strings.Join(lines, "\n")
}
