// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
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

// CleanText returns a text that came from a process, the kernel's log, a tool or another machine as it may be sent and shown: valid UTF-8,
// because OTLP accepts nothing else, on one line, without escape sequences and without invisible characters: control characters and
// marks that change the direction of text. A terminal that prints a log must not obey the name of a process.
func CleanText(text string) string {
	if plain(text) {
		return text
	}
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case !Printable(r):
			return -1
		default:
			return r
		}
	}, text)
}

// BoundedText returns at most maxBytes of CleanText, and no part of a character. The result does not share the text's memory.
func BoundedText(text string, maxBytes int) string {
	// The second cut is for U+FFFD, which is longer than the byte that it replaces.
	return strings.Clone(Cut(CleanText(Cut(text, maxBytes)), maxBytes))
}

// Cut returns at most maxBytes of a text. It does not cut within a character.
func Cut(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	for end := maxBytes; end > 0 && end > maxBytes-utf8.UTFMax; end-- {
		if utf8.RuneStart(text[end]) {
			return text[:end]
		}
	}
	return text[:maxBytes]
}

func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Printable reports whether a terminal draws a character, and obeys it in no way.
func Printable(r rune) bool { return r == ' ' || unicode.IsGraphic(r) }
