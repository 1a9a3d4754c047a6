// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package display has how values look in a terminal: units, tables, and names that nobody can trust.
package display // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapes are the sequences that a terminal obeys, with the introducers of 7 and of 8 bits.
var escapes = regexp.MustCompile("" +
	"(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" + // control sequence: colours, cursor
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)" + // string: title, clipboard, links
	"|\x1b[ -/]*[0-~]") // any other

// Clean returns a text without escape sequences and without what does not show: control characters, marks that change the direction of
// text, and bytes that are no UTF-8. Pods, processes and messages can contain them.
func Clean(text string) string {
	if plain(text) {
		return text
	}
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, ""), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case !shows(r):
			return -1
		default:
			return r
		}
	}, text)
}

func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// shows reports whether a terminal draws a character, and obeys it in no way.
func shows(r rune) bool { return r == ' ' || unicode.IsGraphic(r) && r != utf8.RuneError }

// CleanJSON replaces, within JSON, each character that a terminal could obey by its escape \uXXXX. The value stays the same.
func CleanJSON(json []byte) []byte {
	clean := make([]byte, 0, len(json))
	for _, r := range string(json) {
		switch {
		case r == '\n' || shows(r) || r == utf8.RuneError:
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
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
