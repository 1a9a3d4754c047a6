// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// withhold removes DRM nodes, as if the driver had not made them yet, and returns a function that makes them.
func withhold(t *testing.T, tree *amdgpusim.Tree, nodes ...string) (show func()) {
	t.Helper()
	targets := map[string]string{}
	for _, name := range nodes {
		path := tree.Path("sys/class/drm/" + name)
		target, err := os.Readlink(path)
		require.NoError(t, err)
		targets[path] = target
		require.NoError(t, os.Remove(path))
	}
	return func() {
		for path, target := range targets {
			require.NoError(t, os.Symlink(target, path))
		}
	}
}

// TestNodesAppear: the driver makes its DRM nodes one after the other, and a read may come in between. The next read finds the rest.
func TestNodesAppear(t *testing.T) {
	m := amdgpusim.MI300XCPX()
	tree, source, _ := simulate(t, m, gpu.GroupAll)
	show := withhold(t, tree, "renderD129", "card4", "renderD132")
	before := slices.Clone(read(t, source).Devices) // a node is valid until the next read
	show()
	after := read(t, source).Devices
	require.Len(t, before, 9)
	require.Len(t, after, 9)
	assert.NotContains(t, before[1].Aliases, "renderD129")
	assert.Contains(t, after[1].Aliases, "renderD129")
	assert.Empty(t, before[4].Aliases)
	assert.Contains(t, after[4].Aliases, "amdgpu_xcp_3")
	assert.Equal(t, "card4", after[4].Name)

	_, fresh, _ := simulate(t, m, gpu.GroupAll)
	for i, d := range read(t, fresh).Devices {
		assert.ElementsMatch(t, d.Aliases, after[i].Aliases, d.ID)
		assert.Equal(t, d.Name, after[i].Name)
	}
}
