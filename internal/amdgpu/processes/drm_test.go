// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestClientTimes: a read remembers the clients that it saw, and no others; a read that was given up remembers nothing.
func TestClientTimes(t *testing.T) {
	tree, err := amdgpusim.Write(t.TempDir(), amdgpusim.Radeon())
	require.NoError(t, err)
	inv, err := scan.Scan(tree.Root)
	require.NoError(t, err)
	d, now := NewDRM(tree.Root), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	usages, errs := d.Read(t.Context(), inv, now)
	assert.NotEmpty(t, usages)
	assert.Empty(t, errs)
	assert.NotEmpty(t, d.clients.before)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	usages, _ = d.Read(cancelled, inv, now)
	assert.Empty(t, usages)
	assert.Nil(t, d.clients.before, "half a read is no basis")

	d.Read(t.Context(), inv, now)
	assert.NotEmpty(t, d.clients.before)
	require.NoError(t, os.RemoveAll(tree.Path("proc/1201")))
	require.NoError(t, os.RemoveAll(tree.Path("proc/1202")))
	d.Read(t.Context(), inv, now)
	assert.Empty(t, d.clients.before)
}
