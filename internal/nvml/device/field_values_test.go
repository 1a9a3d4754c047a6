// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// The sum over the links is known if every link that has the quantity answered: a sum that is too small would look like a reset.
func TestSumOverLinks(t *testing.T) {
	answered := func(n uint64) fieldValue {
		return fieldValue{ok: true, value: library.Value{Unsigned: n, Real: float64(n), Whole: true}}
	}
	for name, tt := range map[string]struct {
		links []fieldValue
		total int64
		known bool
	}{
		"all":                   {[]fieldValue{answered(3), answered(4)}, 7, true},
		"one has it not":        {[]fieldValue{answered(3), {refused: true}}, 3, true},
		"one does not answer":   {[]fieldValue{answered(3), {value: answered(4).value}}, 0, false},
		"one has an odd answer": {[]fieldValue{answered(3), {ok: true, value: library.Value{Real: -1}}}, 0, false},
		"none has it":           {[]fieldValue{{refused: true}, {refused: true}}, 0, false},
		"no links":              {nil, 0, false},
	} {
		s := fieldValues{links: len(tt.links), fields: append(make([]fieldValue, numRows), tt.links...)}
		s.firstLink[linkCRC] = int(numRows)
		total, known := s.sum(linkCRC)
		assert.Equal(t, tt.known, known, name)
		assert.Equal(t, tt.total, total, name)
	}
}
