// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOutput(t *testing.T) {
	o := newOutput()
	for text, to := range map[string]io.Writer{"one, and half": o.Stdout(), "hm": o.Stderr(), "{}": &o.status} {
		_, err := io.WriteString(to, text)
		require.NoError(t, err)
	}
	o.Begin()
	// A later exec of the same read does not overwrite the output of the earlier ones.
	o.restart(3, 0)
	assert.Equal(t, "one", string(o.stdout.data))
	assert.Empty(t, o.stderr.data)
	assert.Empty(t, o.status.data)
	assert.False(t, o.began)

	o.stdout.truncated, o.began = true, true
	o.reset()
	assert.Equal(t, newOutput(), o)
}

// Output beyond the bound is dropped and noted, both when reading and when writing. Output of exactly the bound fits.
func TestBounded(t *testing.T) {
	for text, truncated := range map[string]bool{"": false, "1234": false, "12345": false, "123456": true, strings.Repeat("1", 1<<20): true} {
		b, overflows := bounded{limit: 5}, 0
		require.NoError(t, b.readFrom(strings.NewReader(text), func() { overflows++ }))
		assert.Equal(t, text[:min(len(text), 5)], string(b.data))
		assert.Equal(t, truncated, b.truncated)
		assert.Equal(t, truncated, overflows == 1)

		b = bounded{limit: 5}
		n, err := b.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
		n, err = b.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
		assert.Equal(t, (text + text)[:min(2*len(text), 5)], string(b.data))
		assert.Equal(t, 2*len(text) > 5, b.truncated)
	}
}
