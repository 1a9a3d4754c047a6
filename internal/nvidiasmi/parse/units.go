// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"math"
	"strconv"
)

// unit converts a printed number to SI: multiply by times, then divide by over. Two factors keep 78 % at exactly 0.78.
type unit struct {
	name        string
	times, over float64
}

// The units of each quantity. The first one applies if the tool prints no unit (nounits). MB means MiB: the heading of pmon says MB, and
// NVML counts in 1024² bytes.
var (
	unitBytes = []unit{
		{"MiB", 1 << 20, 1}, {"MB", 1 << 20, 1}, {"KiB", 1 << 10, 1}, {"GiB", 1 << 30, 1}, {"TiB", 1 << 40, 1}, {"B", 1, 1},
	}
	unitFraction = []unit{{"%", 1, 100}}
	unitWatts    = []unit{{"W", 1, 1}, {"mW", 1, 1e3}, {"kW", 1e3, 1}}
	unitCelsius  = []unit{{"C", 1, 1}, {"°C", 1, 1}}
	unitHertz    = []unit{{"MHz", 1e6, 1}, {"Hz", 1, 1}, {"kHz", 1e3, 1}, {"KHz", 1e3, 1}, {"GHz", 1e9, 1}}
	unitSeconds  = []unit{{"us", 1, 1e6}, {"ns", 1, 1e9}, {"ms", 1, 1e3}, {"s", 1, 1}, {"µs", 1, 1e6}}
	unitCount    = []unit{{"", 1, 1}}
	unitLanes    = []unit{{"x", 1, 1}}
	unitBanks    = []unit{{"bank(s)", 1, 1}}
	unitVolts    = []unit{{"mV", 1, 1e3}, {"V", 1, 1}}
)

// number reads a decimal number and the unit after it. It accepts nothing else: no exponent, no NaN, no hexadecimal number.
//
// A comma is a decimal comma if one or two digits follow it: the tool prints power with two. With three digits it may also separate
// thousands, so the number is unknown.
func number(b []byte, units []unit) (value float64, ok bool) {
	b, negative := bytes.CutPrefix(bytes.TrimSpace(b), []byte{'-'})
	end := digits(b)
	if end == 0 {
		return 0, false
	}
	decimal := string(b[:end])
	if rest := b[end:]; len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
		n := digits(rest[1:])
		if n == 0 || rest[0] == ',' && n > 2 {
			return 0, false
		}
		decimal += "." + string(rest[1:1+n])
		end += 1 + n
	} else if decimal == noValue {
		return 0, false
	}
	u, ok := unitNamed(string(bytes.TrimSpace(b[end:])), units)
	value, err := strconv.ParseFloat(decimal, 64)
	if !ok || err != nil {
		return 0, false
	}
	if value = value * u.times / u.over; negative {
		value = -value
	}
	return value, !math.IsInf(value, 0)
}

func unitNamed(name string, units []unit) (unit, bool) {
	if name == "" {
		return units[0], true
	}
	for _, u := range units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// digits returns the number of decimal digits at the start of b.
func digits(b []byte) int {
	return len(b) - len(bytes.TrimLeft(b, "0123456789"))
}

// noValue is a number with every bit set. NVML returns it if it has no value, and the tool prints it like any other.
const noValue = "4294967295"

// isNoValue reports whether a text is a number with every bit set, as the tool prints it for each integer type.
func isNoValue(printed []byte) bool {
	for _, number := range []string{noValue, "18446744073709551615", "-1"} {
		if unit, ok := bytes.CutPrefix(printed, []byte(number)); ok && digits(unit) == 0 {
			return true
		}
	}
	return false
}

// integer reads a whole number that is not negative.
func integer(b []byte, units []unit) (int64, bool) {
	v, ok := number(b, units)
	if !ok || v < 0 || v >= math.MaxInt64 {
		return 0, false
	}
	return int64(math.Round(v)), true
}

// boolean reads the tool's words for true and false.
func boolean(b []byte) (value, ok bool) {
	switch string(bytes.TrimSpace(b)) {
	case "Yes", "Active", "Enabled", "True", "On":
		return true, true
	case "No", "Not Active", "Disabled", "False", "Off":
		return false, true
	}
	return false, false
}
