// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// RunBenchmark measures reads of so many devices.
func RunBenchmark(b *testing.B, s gpu.Source, devices int) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		node, err := s.Read(b.Context())
		require.NoError(b, err)
		require.Len(b, node.Devices, devices)
	}
}
