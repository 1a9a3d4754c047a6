// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"math"
)

// unit is how a unit's numbers become SI: times times, then divided by over. Two factors keep 78 % at exactly 0.78.
type unit struct {
	name        string
	times, over float64
}

// The units of each quantity, the first being the one that is meant where none is printed (nounits). MB means MiB: pmon's
// heading says MB and NVML counts in 1024² bytes.
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
)

// number reads a decimal number and the unit after it. It takes nothing else: no exponent, no NaN, no hexadecimal.
//
// A comma is taken for a decimal one where one or two digits follow it, as power prints two. With three it may as well part
// thousands, so that the number is not known.
func number(b []byte, units []unit) (value float64, ok bool) {
	b = bytes.TrimSpace(b)
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	whole := digits(b)
	if whole == 0 {
		return 0, false
	}
	mantissa, scale := parseDigits(0, b[:whole]), 1.0
	comma := false
	if rest := b[whole:]; len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
		n := digits(rest[1:])
		comma = rest[0] == ','
		if n == 0 || comma && n > 2 {
			return 0, false
		}
		mantissa = parseDigits(mantissa, rest[1:1+n])
		scale = math.Pow10(n)
		whole += 1 + n
	}
	if mantissa == noValue && scale == 1 {
		return 0, false
	}
	name := bytes.TrimSpace(b[whole:])
	if len(name) == 0 {
		return inUnit(mantissa, scale, units[0], negative)
	}
	for _, u := range units {
		if u.name == string(name) {
			return inUnit(mantissa, scale, u, negative)
		}
	}
	return 0, false
}

func inUnit(mantissa, scale float64, u unit, negative bool) (float64, bool) {
	v := mantissa * u.times / (scale * u.over)
	if negative {
		v = -v
	}
	return v, !math.IsInf(v, 0) && !math.IsNaN(v)
}

func digits(b []byte) (n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

func parseDigits(v float64, b []byte) float64 {
	for _, c := range b {
		v = v*10 + float64(c-'0')
	}
	return v
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

// reason is why there is no number.
type reason uint8

const (
	reasonAbsent        reason = iota // the board, the driver or the system has no such quantity
	reasonLost                        // the GPU has fallen off the bus
	reasonResetRequired               // the GPU must be reset
	reasonError                       // anything else: worth telling
)

// judge reads the reason that is printed in a number's place.
func reasonOf(b []byte) reason {
	b = inBrackets(b)
	switch string(b) {
	case "", "-", "--", "N/A", "n/a", "None", "Not Supported", "Not supported", "Not Available", "Not Found", "Function Not Found",
		"Requested functionality has been deprecated", "No Data", "No data", "System is not in ready state", "Not Applicable":
		return reasonAbsent
	}
	switch {
	case isNoValue(b):
		return reasonAbsent
	case containsFold(b, "gpu is lost"), containsFold(b, "fallen off the bus"):
		return reasonLost
	case containsFold(b, "requires reset"), containsFold(b, "reset required"), containsFold(b, "needs reset"),
		containsFold(b, "reset must occur"):
		return reasonResetRequired
	}
	return reasonError
}

// containsFold tells whether b contains the lower-case phrase, whatever the case of b's ASCII letters.
func containsFold(b []byte, phrase string) bool {
	return len(b) >= len(phrase) && bytes.Contains(bytes.ToLower(b), []byte(phrase))
}
