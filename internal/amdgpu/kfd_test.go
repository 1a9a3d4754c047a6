// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestNodesMadeAgain: when any GPU appears, disappears or is divided, the compute driver creates all its nodes again
// (kfd_topology_update_sysfs), including the nodes of unaffected GPUs.
func TestNodesMadeAgain(t *testing.T) {
	m := amdgpusim.MI300XCPX()
	tree, source, _ := simulate(t, m, withoutProcesses)
	require.Equal(t, gpu.Some[int64](3_000_000_000), read(t, source).Devices[3].Memory.Usage)
	require.NoError(t, os.RemoveAll(tree.Path("sys/devices/virtual/kfd/kfd/topology/nodes")))
	m.Cards[0].Partitions[2].Used = 5_000_000_000
	_, err := amdgpusim.Write(tree.Root, m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tree.Path("sys/devices/virtual/kfd/kfd/topology/generation_id"), []byte("3\n"), 0o600))
	node := read(t, source)
	assert.Equal(t, gpu.Some[int64](5_000_000_000), node.Devices[3].Memory.Usage)
	assert.Empty(t, node.Problems)
}
