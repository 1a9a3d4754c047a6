// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func TestAsleep(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Status = "suspended"
	for name, wake := range map[string]bool{"left alone": false, "woken": true} {
		t.Run(name, func(t *testing.T) {
			tree, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = wake })
			var touched readNames
			source.readFile = touched.read
			identity := []string{
				"unique_id", "serial_number", "product_number", "vbios_version", "numa_node", "product_name", "device", "revision", "mem_info_vram_total",
			}
			for i := range 3 {
				if i == 1 {
					identity = append(identity, "serial_number", "product_number", "product_name") // which do not exist
				}
				node := read(t, source)
				require.Len(t, node.Devices, 1)
				d := &node.Devices[0]
				assert.Equal(t, "0b7e4d2a91c60034", d.ID)
				assert.Equal(t, gpu.Some[int64](25753026560), d.Memory.Limit)
				assert.Empty(t, d.Faults)
				assert.Equal(t, [3]int64{1, 0, 0}, presence(node))
				assert.Equal(t, wake, d.Power.Draw.Known())
				assert.Equal(t, wake, d.Utilization[gpu.TaskGeneral].Known())
				if wake {
					assert.Empty(t, node.Problems)
					continue
				}
				assert.Equal(t, []string{"asleep"}, whats(node, d.ID))
				assert.Equal(t, identity, touched.names, "the identity, once")
			}
			if wake {
				return
			}
			require.NoError(t, os.WriteFile(filepath.Join(tree.Root, "sys/class/drm/card1/device/power/runtime_status"), []byte("active\n"), 0o600))
			node := read(t, source)
			assert.Empty(t, node.Problems)
			assert.Equal(t, gpu.Some(287.0), node.Devices[0].Power.Draw)
		})
	}
}

// TestAsleepInAnotherMode: when the driver is loaded again, the earlier partition mode no longer applies. While the GPU sleeps, it
// is not read.
func TestAsleepInAnotherMode(t *testing.T) {
	m := amdgpusim.MI300XCPX()
	tree, source, _ := simulate(t, m, withoutProcesses)
	require.Len(t, read(t, source).Devices, 9)
	c := m.Cards[0]
	require.NoError(t, os.Rename(tree.Path(c.Dir()), tree.Path("gone"))) // kept, for the next one to be another
	for _, name := range []string{"sys/class/drm", "sys/devices/virtual/kfd", "sys/devices/platform"} {
		require.NoError(t, os.RemoveAll(tree.Path(name)))
	}
	c.Status, c.Compute, c.Partitions = "suspended", "SPX", c.Partitions[:1]
	_, err := amdgpusim.Write(tree.Root, m)
	require.NoError(t, err)
	node := read(t, source)
	assert.Len(t, node.Devices, 1)
	assert.Equal(t, []string{"asleep"}, whats(node, node.Devices[0].ID))
}
