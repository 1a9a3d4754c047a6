// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
	"math"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// parseUint reads a decimal number with white space around it and nothing else.
func parseUint(text []byte) (uint64, bool) {
	n, rest, ok := leadingUint(bytes.TrimSpace(text))
	return n, ok && len(rest) == 0
}

// parseInt reads a decimal number that may be negative.
func parseInt(text []byte) (int64, bool) {
	text = bytes.TrimSpace(text)
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	n, rest, ok := leadingUint(digits)
	if !ok || len(rest) != 0 || n > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// leadingUint reads the digits that a text begins with.
func leadingUint(text []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		digit := uint64(text[i] - '0')
		if n > (math.MaxUint64-digit)/10 {
			return 0, text, false
		}
		n = n*10 + digit
	}
	return n, text[i:], i > 0
}

// parseHex reads a hexadecimal number, with or without 0x.
func parseHex(text []byte) (uint64, bool) {
	text = bytes.TrimSpace(text)
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		text = text[2:]
	}
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	var n uint64
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | uint64(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// label returns a line of text; empty for what the driver and firmware write where they know nothing.
func label(text []byte) string {
	s := string(bytes.TrimSpace(text))
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

// nextField takes a word off a text, and the white space before it.
func nextField(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " \t\n\r")
	i := bytes.IndexAny(text, " \t\n\r")
	if i < 0 {
		return text, nil
	}
	return text[:i], text[i:]
}

// nextLine takes a line off a text.
func nextLine(text []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(text, []byte{'\n'})
	return line, rest
}

// The bounds within which a reading is believed. What lies outside is a firmware's way of saying that it has none: of temperatures
// 255 and 511 °C, all bits of a register.
const (
	coldest, hottest = -100.0, 250.0 // °C
	leastPower       = 0.3           // W, of a GPU that is awake
	mostPower        = 60_000.0      // W
	fastest          = 60e9          // Hz
	mostBytes        = 1 << 50
)

// within returns a value that is believable.
func within(v, low, high float64) gpu.Opt[float64] {
	if !(v >= low && v <= high) {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(v)
}

// pcieGeneration returns the generation of a link, of "16.0 GT/s PCIe" or, in older kernels, "16 GT/s".
func pcieGeneration(text []byte) gpu.Opt[int64] {
	word, rest := nextField(text)
	unit, _ := nextField(rest)
	if string(unit) != "GT/s" {
		return gpu.Opt[int64]{}
	}
	whole, fraction, _ := bytes.Cut(word, []byte{'.'})
	n, ok := parseUint(whole)
	if !ok || n > 1000 {
		return gpu.Opt[int64]{}
	}
	tenths := n * 10
	if f, ok := parseUint(fraction); ok && f < 10 {
		tenths += f
	}
	return generationOf(tenths)
}

// generationOf returns the generation of a link by its speed in 0.1 GT/s.
func generationOf(tenths uint64) gpu.Opt[int64] {
	switch tenths {
	case 25:
		return gpu.Some[int64](1)
	case 50:
		return gpu.Some[int64](2)
	case 80:
		return gpu.Some[int64](3)
	case 160:
		return gpu.Some[int64](4)
	case 320:
		return gpu.Some[int64](5)
	case 640:
		return gpu.Some[int64](6)
	}
	return gpu.Opt[int64]{}
}

// lanes returns a width that a link can have: 0 and 255 are how the kernel says that there is none.
func lanes(n uint64) gpu.Opt[int64] {
	if n < 1 || n > 32 {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(n))
}

// dpmTable reads the levels of a clock: "0: 132Mhz *\n1: 2100Mhz\n", the level in use with a star, and one that is in
// deep sleep as "S: 19Mhz *". It returns the speed in use and the highest, in hertz.
func dpmTable(text []byte) (current, highest gpu.Opt[float64]) {
	var top float64
	for len(text) > 0 {
		var line []byte
		line, text = nextLine(text)
		level, speed, ok := bytes.Cut(line, []byte{':'})
		if !ok || len(level) == 0 {
			continue
		}
		word, rest := nextField(speed)
		mhz, unit, ok := leadingUint(word)
		if !ok || !bytes.EqualFold(unit, []byte("Mhz")) {
			continue
		}
		hertz := float64(mhz) * 1e6
		if hertz > fastest {
			continue
		}
		if star, _ := nextField(rest); string(star) == "*" {
			current = gpu.Some(hertz)
		}
		if level[0] != 'S' {
			top = max(top, hertz)
		}
	}
	if top > 0 {
		highest = gpu.Some(top)
	}
	return current, highest
}
