// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of a flood no memory is kept, and nothing of one exec is taken for the next one's.
func TestOutputs(t *testing.T) {
	o := newOutput()
	require.NoError(t, o.stdout.readFrom(strings.NewReader(strings.Repeat("x", 2*maxKept)), nothing))
	require.NoError(t, o.stderr.readFrom(strings.NewReader("hm"), nothing))
	require.NoError(t, o.status.readFrom(strings.NewReader("{}"), nothing))
	o.stdout.truncated, o.began = true, true
	stderr := cap(o.stderr.data)
	o.reset()
	assert.Zero(t, cap(o.stdout.data))
	assert.Equal(t, stderr, cap(o.stderr.data), "what is small is used again")
	assert.Empty(t, o.stderr.data)
	assert.Empty(t, o.status.data)
	assert.False(t, o.began)
	assert.False(t, o.stdout.truncated)

	// Another exec of the same read: what the ones before printed is kept.
	require.NoError(t, o.stdout.readFrom(strings.NewReader("one, and half"), nothing))
	require.NoError(t, o.stderr.readFrom(strings.NewReader("hm"), nothing))
	require.NoError(t, o.status.readFrom(strings.NewReader("{}"), nothing))
	o.began = true
	o.restart(3, 0)
	assert.Equal(t, "one", string(o.stdout.data))
	assert.Empty(t, o.stderr.data)
	assert.Empty(t, o.status.data)
	assert.False(t, o.began)
}
