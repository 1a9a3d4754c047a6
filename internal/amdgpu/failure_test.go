// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// requireUnread checks that a device is in the node by its identity only.
func requireUnread(t *testing.T, d *gpu.Device, id string) {
	t.Helper()
	assert.True(t, d.Unread)
	assert.True(t, d.ProcessesUnread)
	assert.Equal(t, id, d.ID)
	assert.Equal(t, "AMD Instinct MI100", d.Model)
	assert.Empty(t, d.Faults, "its failure is not reported")
	assert.False(t, d.Memory.Limit.Known())
}

// TestNotBegun: a GPU whose read was not started in time is unread, not failed.
func TestNotBegun(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	read(t, source)
	now := source.now
	ctx, cancel := context.WithCancel(t.Context())
	source.now = func() time.Time { cancel(); return now() }
	node, err := source.Read(ctx)
	require.NoError(t, err)
	require.NotNil(t, node.Failure)
	assert.Equal(t, gpu.FailureTimeout, node.Failure.Reason)
	require.Len(t, node.Devices, 2)
	requireUnread(t, &node.Devices[0], "3a51e0c2d4b70010")
	assert.Equal(t, [3]int64{-1, 2, 0}, presence(node), "what the bus shows stays")
	source.now = now
	node = read(t, source)
	assert.Nil(t, node.Failure)
	assert.False(t, node.Devices[0].Unread)
}

// TestFilesNotPermitted: a collector that may open none of a GPU's files knows nothing of the GPU's state. If that is true of every GPU,
// the source is not readable.
func TestFilesNotPermitted(t *testing.T) {
	for name, test := range map[string]struct {
		dir string // of the files
		all bool
	}{
		"all GPUs": {"", true},
		"one GPU":  {amdgpusim.MI100().Cards[0].Address, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
			read(t, source)
			source.readFile = func(path string) ([]byte, error) {
				if strings.Contains(path, test.dir) {
					return nil, syscall.EACCES
				}
				return sysfs.Read(path)
			}
			node := read(t, source)
			require.Len(t, node.Devices, 2)
			requireUnread(t, &node.Devices[0], "3a51e0c2d4b70010")
			assert.Equal(t, test.all, node.Devices[1].Unread)
			assert.Contains(t, whats(node, "3a51e0c2d4b70010"), "power")
			if !test.all {
				assert.Nil(t, node.Failure)
				assert.Equal(t, [3]int64{1, 1, 0}, presence(node))
				return
			}
			require.NotNil(t, node.Failure)
			assert.Equal(t, [3]int64{-1, 2, 0}, presence(node))
			assert.Equal(t, gpu.FailurePermission, node.Failure.Reason)
			require.ErrorContains(t, node.Failure, "allow the collector's user to read the file")
		})
	}
}
