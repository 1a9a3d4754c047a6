// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What is not known is "-", and 0 is 0.
func TestUnits(t *testing.T) {
	zero, gib := 0.0, float64(1<<30)
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		want, got string
	}{
		{"-", Percent(nil)},
		{"-", GiB(nil)},
		{"-", Watts(nil)},
		{"-", Celsius(nil)},
		{"-", MHz(nil)},
		{"-", KWh(nil)},
		{"-", Seconds(nil)},
		{"-", Count(nil)},
		{"-", Text(nil)},
		{"-", Texts(nil)},
		{"-", Bar(nil, 10)},
		{"-", GiBOf(nil, nil)},
		{"-", WattsOf(nil, new(700.0))},
		{"-", Time(time.Time{})},
		{"-", Text(new(""))},
		{"-", Text(new("\x1b[31m"))},
		{"-", Percent(&nan)},
		{"-", Watts(&inf)},
		{"-", Bar(&nan, 10)},
		{"-", Seconds(&inf)},
		{"-", GiB(&inf)},
		{"0%", Percent(&zero)},
		{"0 GiB", GiB(&zero)},
		{"0 W", Watts(&zero)},
		{"0", Count(new(0))},
		{"░░░░░░░░░░   0%", Bar(&zero, 10)},
		{"97%", Percent(new(0.97))},
		{"█████████▌", "█████████▌"},
		{"██████████ 100%", Bar(new(1.0), 10)},
		{"█████░░░░░  50%", Bar(new(0.5), 10)},
		{"██████████ 400%", Bar(new(4.0), 10)},
		{"░░░░░░░░░░ -10%", Bar(new(-0.1), 10)},
		{"1.5 GiB", GiB(new(1.5 * gib))},
		{"60/80 GiB", GiBOf(new(60*gib), new(80*gib))},
		{"0.5/80 GiB", GiBOf(new(0.5*gib), new(80*gib))},
		{"60 GiB", GiBOf(new(60*gib), nil)},
		{"10 GiB", GiB(new(9.99 * gib))},
		{"9216 GiB", GiB(new(9216 * gib))},
		{"470/640 TiB", GiBOf(new(470*1024*gib), new(640*1024*gib))},
		{"0.50/640 TiB", GiBOf(new(512*gib), new(640*1024*gib))},
		{"3.12/5.60 MW", WattsOf(new(3.12e6), new(5.6e6))},
		{"9999 W", Watts(new(9999.0))},
		{"10.0 kW", Watts(new(1e4))},
		{"650/700 W", WattsOf(new(650.0), new(700.0))},
		{"650 W", WattsOf(new(650.0), nil)},
		{"88 °C", Celsius(new(88.0))},
		{"1980 MHz", MHz(new(1.98e9))},
		{"1.00 kWh", KWh(new(3.6e6))},
		{"59s", Seconds(new(59.0))},
		{"2m", Seconds(new(125.0))},
		{"3h", Seconds(new(3*3600.0 + 100))},
		{"4d", Seconds(new(4 * 86400.0))},
		{"0s", Seconds(new(-5.0))},
		{"a,b", Texts([]string{"a", "b"})},
	} {
		assert.Equal(t, tc.want, tc.got)
	}
}
