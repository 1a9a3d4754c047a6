// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEntryLength(t *testing.T) {
	const version = -1 // as the version says
	for _, test := range []struct{ written, n, want int }{
		{32, 2, 16},
		{48, 2, 24},
		{64, 2, 32},
		{40, 2, 24}, // the ids of the last one are left as they were
		{56, 2, 32},
		{16 * 100, 100, 16},
		{24 * 100, 100, 24},
		{32 * 100, 100, 32},
		{0, 2, version},
		{64 * 32, 2, version}, // all the room is cleared first
	} {
		assert.Equal(t, test.want, entryLength(test.written, test.n, version), "%d bytes, %d entries", test.written, test.n)
	}
}
