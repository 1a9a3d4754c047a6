// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// NumberOf returns a number and its unit from any of the forms in which the tools print them: 21, "21", "21 W",
// {"value": 21, "unit": "W"}, {"value": "21", "unit": "W"}.
func NumberOf(v any) (number float64, unit string, ok bool) {
	switch v := v.(type) {
	case json.Number:
		number, err := v.Float64()
		return number, "", err == nil
	case string:
		number, unit, ok = leadingNumber(v)
		return number, unit, ok && Meaningful(v)
	case map[string]any:
		inner, found := v["value"]
		if !found {
			return 0, "", false
		}
		if _, nested := inner.(map[string]any); nested {
			return 0, "", false
		}
		number, unit, ok = NumberOf(inner)
		if text, _ := v["unit"].(string); ok && Meaningful(text) {
			unit = strings.TrimSpace(text)
		}
		return number, unit, ok
	default:
		return 0, "", false
	}
}

// leadingNumber returns the number at the beginning of a text and the text after it.
func leadingNumber(s string) (value float64, rest string, ok bool) {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) {
		c := s[end]
		switch {
		case c >= '0' && c <= '9', c == '.':
		case (c == '-' || c == '+') && end == 0:
		case (c == 'e' || c == 'E') && end > 0 && end+1 < len(s) && isExponent(s[end+1:]):
		case (c == '-' || c == '+') && (s[end-1] == 'e' || s[end-1] == 'E'):
		default:
			value, ok = parseFloat(s[:end])
			return value, strings.TrimSpace(s[end:]), ok
		}
		end++
	}
	value, ok = parseFloat(s)
	return value, "", ok
}

// isExponent reports whether the text after an E is an exponent, and not the rest of a word.
func isExponent(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return s != "" && s[0] >= '0' && s[0] <= '9'
}

func parseFloat(s string) (float64, bool) {
	if s == "" || strings.HasPrefix(s, "0x") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}
