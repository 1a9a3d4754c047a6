// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Absent represents an unknown value.
const Absent = "-"

// Text is a text, cleaned.
func Text(v *string) string {
	if v == nil || *v == "" {
		return Absent
	}
	return orAbsent(gpu.CleanText(*v))
}

// Texts are several.
func Texts(v []string) string { return orAbsent(gpu.CleanText(strings.Join(v, ","))) }

func orAbsent(text string) string {
	if text == "" {
		return Absent
	}
	return text
}

// Count is a number of things.
func Count(v *int) string {
	if v == nil {
		return Absent
	}
	return strconv.Itoa(*v)
}

// Percent is a share from 0 to 1.
func Percent(v *float64) string { return amount(v, 0.01, 0, "%") }

// GiB is an amount of memory in bytes, from 10 TiB on in a larger unit.
func GiB(v *float64) string { return memory.text(v) }

// GiBOf is an amount of memory and what there is of it, in one unit.
func GiBOf(v, total *float64) string { return memory.of(v, total) }

// Watts is a power, from 10 kW on in a larger unit.
func Watts(v *float64) string { return power.text(v) }

// WattsOf is a power and its limit, in one unit.
func WattsOf(v, limit *float64) string { return power.of(v, limit) }

// scale are the units of a quantity. The rows of a table of GPUs or nodes have the first unit: it is used up to ten of the second.
type scale struct {
	first, base float64
	units       []string
	tenths      bool // small amounts of the first unit have a digit after the point
}

var (
	memory = scale{1 << 30, 1024, []string{" GiB", " TiB", " PiB"}, true}
	power  = scale{1, 1000, []string{" W", " kW", " MW", " GW"}, false}
)

func (s scale) text(v *float64) string {
	if v == nil {
		return Absent
	}
	unit, name := s.unit(*v)
	return amount(v, unit, s.digits(*v, unit), name)
}

// of writes a part and its whole in the unit of the whole.
func (s scale) of(v, whole *float64) string {
	if v == nil || whole == nil {
		return s.text(v)
	}
	unit, name := s.unit(*whole)
	return amount(v, unit, s.digits(*v, unit), "/") + amount(whole, unit, s.digits(*whole, unit), name)
}

func (s scale) unit(v float64) (unit float64, name string) {
	unit, i := s.first, 0
	for next := 10 * s.base; math.Abs(v) >= next*unit && i < len(s.units)-1; next = s.base {
		unit, i = unit*s.base, i+1
	}
	return unit, s.units[i]
}

// digits returns how many digits after the point are written: in a larger unit a number has three digits in all.
func (s scale) digits(v, unit float64) int {
	switch v = math.Abs(v) / unit; {
	case unit > s.first && v < 9.995:
		return 2
	case unit > s.first && v < 99.95, s.tenths && unit == s.first && v != 0 && v < 9.95:
		return 1
	default:
		return 0
	}
}

// Celsius is a temperature.
func Celsius(v *float64) string { return amount(v, 1, 0, " °C") }

// MHz is a clock's speed in hertz.
func MHz(v *float64) string { return amount(v, 1e6, 0, " MHz") }

// KWh is an energy in joules.
func KWh(v *float64) string { return amount(v, 3.6e6, 2, " kWh") }

// Seconds is a duration.
func Seconds(v *float64) string {
	if v == nil || !finite(*v) {
		return Absent
	}
	return Ago(time.Duration(min(*v, 1e9) * float64(time.Second)))
}

// Hours are hours of a number of seconds.
func Hours(v *float64) string {
	if v == nil || !finite(*v) {
		return Absent
	}
	return strconv.FormatFloat(*v/3600, 'f', 1, 64)
}

// Ago is a duration, by its largest unit.
func Ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0fm", math.Floor(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0fh", math.Floor(d.Hours()))
	default:
		return fmt.Sprintf("%.0fd", math.Floor(d.Hours()/24))
	}
}

// Time is a moment, in the time zone of this machine.
func Time(t time.Time) string {
	if t.IsZero() {
		return Absent
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// Bar draws a share with this many cells.
func Bar(v *float64, cells int) string {
	if v == nil || !finite(*v) {
		return Absent
	}
	filled := min(cells, max(0, int(math.Round(*v*float64(cells)))))
	return strings.Repeat("█", filled) + strings.Repeat("░", cells-filled) + fmt.Sprintf(" %4s", Percent(v))
}

func amount(v *float64, unit float64, digits int, name string) string {
	if v == nil || !finite(*v) {
		return Absent
	}
	return strconv.FormatFloat(*v/unit, 'f', digits, 64) + name
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
