// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

func TestAmbiguousField(t *testing.T) {
	for name, tt := range map[string]struct {
		kind    uint32
		answers []uint64
		want    []bool
	}{
		"a time":                {library.TypeUnsignedLongLong, []uint64{0, 2e9, 2e9, 3e9, 3e9}, []bool{false, false, false, true, true}},
		"a time that stands":    {library.TypeUnsignedLongLong, []uint64{2e9, 2e9, 2e9}, []bool{false, false, false}},
		"a setting":             {library.TypeUnsignedLongLong, []uint64{80, 80, 80}, []bool{false, false, false}},
		"a setting that grows":  {library.TypeUnsignedLongLong, []uint64{0, 50, 80, 100}, []bool{false, false, false, false}},
		"a setting by its type": {library.TypeUnsignedInt, []uint64{2e9, 3e9, 4e9}, []bool{false, false, false}},
		"a real number":         {library.TypeDouble, []uint64{2e9, 3e9, 4e9}, []bool{false, false, false}},
	} {
		var a ambiguous
		for i, answer := range tt.answers {
			assert.Equal(t, tt.want[i], a.isTime(tt.kind, library.Value{Unsigned: answer}), "%s, answer %d", name, i)
		}
	}
}
