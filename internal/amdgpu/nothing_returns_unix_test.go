// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package amdgpu

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestNothingReturns: the source is not readable while no read of a GPU has returned.
func TestNothingReturns(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	assert.Nil(t, read(t, source).Failure)
	var hanging []string
	for _, card := range []string{"card0", "card1"} {
		busy := filepath.Join(tree.Root, "sys/class/drm", card, "device/gpu_busy_percent")
		require.NoError(t, os.Remove(busy))
		require.NoError(t, syscall.Mkfifo(busy, 0o600))
		hanging = append(hanging, busy)
	}
	untilHung(t, source, source.readers[0].task, source.readers[1].task)
	for range 3 {
		node := read(t, source)
		require.Len(t, node.Devices, 2)
		require.NotNil(t, node.Failure)
		assert.Equal(t, gpu.FailureTimeout, node.Failure.Reason)
		assert.Equal(t, [3]int64{0, 2, 0}, presence(node))
	}
	for _, busy := range hanging {
		release(t, busy, "7\n")
	}
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	assert.Nil(t, read(t, source).Failure)
}
