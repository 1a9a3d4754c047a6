// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
)

// UTF-16 is converted to the text that unicode/utf16 returns, also if it is invalid.
func TestUTF16(t *testing.T) {
	for _, units := range [][]uint16{
		utf16.Encode([]rune("GPU 0: é 日本 🖥 end")),
		{'a', 0xD83D},              // half of a pair at the end
		{0xD83D, 'a', 0xDDA5, 'b'}, // halves apart
		{0xDDA5, 0xD83D, 0xDDA5},
		{0xFFFD, 0},
	} {
		want := string(utf16.Decode(units))
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			data := order.AppendUint16(nil, 0xFEFF)
			for _, u := range units {
				data = order.AppendUint16(data, u)
			}
			assert.Equal(t, want, string(clean(data)))
			assert.Equal(t, want, string(clean(append(data, 'x'))), "half a unit at the end")
		}
	}
}

// The conversion of what a tool prints on Windows holds the text beside the data, and nothing else.
func TestUTF16IsNotHeldTwice(t *testing.T) {
	data := append([]byte("\xff\xfe"), bytes.Repeat([]byte("a\x00"), 4<<20)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := clean(data)
	runtime.ReadMemStats(&after)
	assert.Len(t, text, 4<<20)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(data)*3/4))
}
