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
)

// clean removes a byte order mark and turns UTF-16, which PowerShell makes of redirected output, into UTF-8.
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
	units := make([]uint16, 0, len(data)/2)
	for data = data[2:]; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	text := make([]byte, 0, len(units))
	for _, r := range utf16.Decode(units) {
		text = utf8.AppendRune(text, r)
	}
	return text
}

// lines yields the lines that are not empty, without their ends and without the ends of Windows.
func lines(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			line := data
			if i := bytes.IndexByte(data, '\n'); i >= 0 {
				line, data = data[:i], data[i+1:]
			} else {
				data = nil
			}
			line = bytes.TrimSuffix(line, []byte{'\r'})
			if len(bytes.TrimSpace(line)) > 0 && !yield(line) {
				return
			}
		}
	}
}

// text copies printed text up to a bound, made valid where the tool printed a name that is not UTF-8.
func text(b []byte) string {
	s := strings.ToValidUTF8(string(b[:min(len(b), maxText)]), "\uFFFD")
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "") // what was put in is longer than what it stands for
}

// maxText bounds what is taken over as text. The driver has room for 96 bytes of a name, the longest there are; a process's
// path may be longer.
const maxText = 1024

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
