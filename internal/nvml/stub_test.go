// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Built without NVML, the source reports so, and counts what the bus shows.
func TestStub(t *testing.T) {
	sys := t.TempDir()
	pciDevice(t, sys, "0000:1b:00.0", "0x10de", "0x030200", "nvidia")
	cfg := DefaultConfig()
	s := New(&cfg, gpu.GroupAll, WithSysRoot(sys))
	for range 2 {
		n, err := s.Read(t.Context())
		require.NoError(t, err)
		assert.Empty(t, n.Devices)
		require.Len(t, n.Problems, 1)
		require.EqualError(t, n.Problems[0].Err, "NVML support was not compiled in: build with cgo on linux")
		assert.Equal(t, gpu.FailureLibrary, n.Failure.Reason)
		assert.False(t, n.Presence[gpu.Visible].Known())
		assert.Equal(t, gpu.NVIDIA, n.Vendor)
		assert.False(t, n.Time.IsZero())
		assert.Equal(t, gpu.Some[int64](1), n.Presence[gpu.Missing])
	}
	require.NoError(t, s.Close())
}
