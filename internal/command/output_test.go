// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBounded(t *testing.T) {
	calls := 0
	b := bounded{limit: 5, full: func() { calls++ }}
	for _, s := range []string{"abc", "def", "ghi"} {
		n, err := b.Write([]byte(s))
		require.NoError(t, err)
		assert.Equal(t, 3, n)
	}
	assert.Equal(t, "abcde", string(b.data))
	assert.True(t, b.truncated)
	assert.Equal(t, 1, calls)
}

// Little is kept of an output that exceeds its limit, because no real output does.
func TestLargeOutput(t *testing.T) {
	b := bounded{limit: 3 * maxFlood}
	for range 100 {
		_, err := b.Write(make([]byte, maxFlood/4+1))
		require.NoError(t, err)
	}
	assert.True(t, b.truncated)
	assert.Len(t, b.data, maxFlood)
	assert.Less(t, cap(b.data), 2*maxFlood)
}

// Output never takes more memory than its limit.
func TestOutputStaysWithinItsLimit(t *testing.T) {
	const limit = 1000000
	b := bounded{limit: limit}
	for range 100 {
		_, err := b.Write(make([]byte, 32<<10))
		require.NoError(t, err)
		assert.LessOrEqual(t, cap(b.data), limit)
	}
	assert.Len(t, b.data, limit)
	l, err := NewLocal(NvidiaSMI, "")
	require.NoError(t, err)
	assert.Equal(t, 8<<20, l.stdoutLimit)
}
