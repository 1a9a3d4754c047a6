// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"fmt"
	"slices"
)

// violations has each violation once.
type violations []string

func (v *violations) add(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(*v, text) {
		*v = append(*v, text)
	}
}

// epsilon bounds the rounding error of a sum of fractions.
const epsilon = 1e-6

// within reports whether a sum is within a bound, apart from rounding.
func within(sum, bound float64) bool { return sum <= bound*(1+epsilon)+epsilon }
