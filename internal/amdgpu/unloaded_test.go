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

// TestDriverUnloaded: a GPU whose driver is unloaded, for example for an upgrade, is unread: only the source has failed.
func TestDriverUnloaded(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	read(t, source)
	require.NoError(t, os.RemoveAll(tree.Path("sys/module/amdgpu")))
	require.NoError(t, os.RemoveAll(tree.Path("sys/class/drm")))
	for _, c := range m.Cards {
		require.NoError(t, os.RemoveAll(tree.Path(c.Dir()+"/drm")))
		require.NoError(t, os.Remove(tree.Path(c.Dir()+"/driver")))
	}
	missing := tree.Path("sys/bus/pci/devices/" + m.Cards[1].Address)
	require.NoError(t, os.Remove(missing))
	node := read(t, source)
	require.Len(t, node.Devices, 2)
	assert.False(t, node.Presence[gpu.Visible].Known())
	assert.Equal(t, gpu.Some[int64](2), node.Presence[gpu.Missing])
	assert.True(t, node.Devices[0].Unread, "it is on the bus")
	assert.Empty(t, node.Devices[0].Faults)
	assert.Equal(t, gpu.FaultLost, node.Devices[1].Faults[0].Type, "it is not")
	for i := range node.Devices {
		assert.Equal(t, gpu.Some(i), node.Devices[i].Index, "an allocation may mean it")
		assert.False(t, node.Devices[i].CurrentIndex.Known(), "no tool shows it")
	}
	require.NotNil(t, node.Failure)
	assert.Equal(t, gpu.FailureDriver, node.Failure.Reason)
	require.ErrorContains(t, node.Failure, "load it")
}
