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
