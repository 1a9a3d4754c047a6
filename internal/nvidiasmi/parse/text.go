// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"encoding/binary"
	"iter"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// clean removes a byte order mark and converts UTF-16, which PowerShell writes when it redirects output, to UTF-8. The conversion is
// character by character: in addition to the data it holds only the text, which has half their size if it is ASCII.
func clean(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return data
	}
	data = data[2:]
	text := make([]byte, 0, len(data)/2)
	for len(data) >= 2 {
		r, size := rune(order.Uint16(data)), 2
		if utf16.IsSurrogate(r) {
			r = utf8.RuneError
			if len(data) >= 4 {
				if pair := utf16.DecodeRune(rune(order.Uint16(data)), rune(order.Uint16(data[2:]))); pair != utf8.RuneError {
					r, size = pair, 4
				}
			}
		}
		text = utf8.AppendRune(text, r)
		data = data[size:]
	}
	return text
}

// lines yields the lines that are not empty, without their line ends, which are CR LF on Windows.
func lines(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(data) {
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
			if len(bytes.TrimSpace(line)) > 0 && !yield(line) {
				return
			}
		}
	}
}

// maxText bounds a text in bytes. The driver has room for 96 bytes of the longest name; the path of a process may be longer.
const maxText = 1024

// text copies printed text up to maxText.
func text(b []byte) string {
	return gpu.BoundedText(string(b[:min(len(b), maxText+1)]), maxText)
}

// quoted is text shortened for a message.
func quoted(b []byte) string {
	const most = 120
	s := text(bytes.TrimSpace(b))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// inBrackets removes the brackets around a reason: [N/A].
func inBrackets(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if len(b) >= 2 && b[0] == '[' && b[len(b)-1] == ']' {
		return bytes.TrimSpace(b[1 : len(b)-1])
	}
	return b
}

// containsFold reports whether b contains a phrase, which must be in lower case, whatever the case of b.
func containsFold(b []byte, phrase string) bool {
	return bytes.Contains(bytes.ToLower(b), []byte(phrase))
}
