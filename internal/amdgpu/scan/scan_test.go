// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func scanned(t *testing.T, m *amdgpusim.Machine) (*amdgpusim.Tree, *Inventory) {
	t.Helper()
	tree, err := amdgpusim.Write(t.TempDir(), m)
	require.NoError(t, err)
	inv, err := Scan(tree.Root)
	require.NoError(t, err)
	return tree, inv
}

func TestScanMachines(t *testing.T) {
	for name, build := range amdgpusim.Machines() {
		t.Run(name, func(t *testing.T) {
			m := build()
			tree, inv := scanned(t, m)
			assert.True(t, inv.DriverLoaded)
			assert.True(t, inv.BusKnown)
			require.NoError(t, inv.NodesErr)
			require.Len(t, inv.Cards, len(m.Cards))
			assert.Len(t, inv.Functions, len(m.Cards))
			for _, want := range m.Cards {
				card := inv.Card(want.Address)
				require.NotNil(t, card)
				assert.Equal(t, tree.Path(want.Dir()), card.Dir)
				assert.Equal(t, card.Name, filepath.Base(card.Device))
				function, ok := inv.Functions.Find(want.Address)
				assert.True(t, ok)
				assert.Equal(t, DriverName, function.Driver)
				nodes := inv.NodesOf(want.Address)
				require.Len(t, nodes, len(want.Partitions))
				for i, n := range nodes {
					assert.Equal(t, i, n.Partition)
					assert.Equal(t, Owner{Address: want.Address, Partition: i}, inv.DRMNodes[n.DRM[0]])
					assert.Equal(t, &inv.NodesOf(want.Address)[i], inv.NodeByID(n.GPUID))
					used, err := n.UsedMemory()
					if want.Partitions[i].Used == amdgpusim.None {
						require.ErrorIs(t, err, os.ErrNotExist)
					} else {
						assert.EqualValues(t, want.Partitions[i].Used, used)
					}
				}
			}
			assert.Nil(t, inv.Card("0000:ff:00.0"))
			assert.Nil(t, inv.NodesOf("0000:ff:00.0"))
			assert.Nil(t, inv.NodeByID(1))
		})
	}
}

func TestScanNothing(t *testing.T) {
	inv, err := Scan(t.TempDir())
	require.NoError(t, err)
	assert.False(t, inv.DriverLoaded)
	assert.False(t, inv.BusKnown)
	assert.Nil(t, inv.Functions)
	assert.Empty(t, inv.Cards)

	_, inv = scanned(t, &amdgpusim.Machine{Kernel: "6.12"})
	assert.True(t, inv.BusKnown)
	assert.NotNil(t, inv.Functions, "the bus is known to have none")
}

// TestScanWithoutDriverLink: a container may not see the driver's directory. The vendor then decides.
func TestScanWithoutDriverLink(t *testing.T) {
	m := amdgpusim.MI100()
	tree, _ := scanned(t, m)
	first, second := tree.Path(m.Cards[0].Dir()), tree.Path(m.Cards[1].Dir())
	require.NoError(t, os.Remove(first+"/driver"))
	require.NoError(t, os.Remove(second+"/driver"))
	require.NoError(t, os.WriteFile(second+"/vendor", []byte("0x8086\n"), 0o600))
	inv, err := Scan(tree.Root)
	require.NoError(t, err)
	require.Len(t, inv.Cards, 1)
	assert.Equal(t, m.Cards[0].Address, inv.Cards[0].Address)
}

// TestUnreadableNode: one node that cannot be read costs no other.
func TestUnreadableNode(t *testing.T) {
	m := amdgpusim.MI300XCPX()
	tree, _ := scanned(t, m)
	require.NoError(t, os.Remove(tree.Path("sys/class/kfd/kfd/topology/nodes/3/properties")))
	inv, err := Scan(tree.Root)
	require.NoError(t, err)
	require.ErrorContains(t, inv.NodesErr, "nodes/3")
	assert.Len(t, inv.Nodes, 7)

	require.NoError(t, os.WriteFile(tree.Path("sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/used_memory"), []byte("much\n"), 0o600))
	_, err = inv.Nodes[0].UsedMemory()
	require.Error(t, err)
}
