// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci/pcitest"
)

// The tool wakes all GPUs. So it is not run while all are asleep.
func TestAsleep(t *testing.T) {
	sys := t.TempDir()
	bus := pcitest.New(t, sys)
	power := func(address, status string) {
		t.Helper()
		dir := filepath.Join(sys, "bus/pci/devices", address, "power")
		require.NoError(t, os.MkdirAll(dir, 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "control"), []byte("auto\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "runtime_status"), []byte(status+"\n"), 0o600))
	}
	for _, address := range []string{"0000:0a:00.0", "0000:0b:00.0"} {
		bus.Function(address, "0x10de", "0x030000", "nvidia")
		power(address, "suspended")
	}
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	r.sleep = newSleepWatch(sys)

	node := read(t, r)
	assert.Empty(t, f.batches, "nothing was run")
	require.Len(t, node.Devices, 2)
	assert.Equal(t, "0000:0a:00.0", node.Devices[0].Info.PCIAddress)
	assert.Equal(t, counts(2, 0), presence(node))

	power("0000:0b:00.0", "active")
	node = read(t, r)
	assert.Equal(t, gpu.Some(50.0), deviceOf(t, node, "GPU-a").Temperature[gpu.SensorGPU])
	epoch := node.Devices[0].Epoch

	power("0000:0b:00.0", "suspended")
	f.batches = nil
	node = read(t, r)
	assert.Empty(t, f.batches)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
	for i := range node.Devices {
		assert.Empty(t, node.Devices[i].Faults)
		assert.False(t, node.Devices[i].Unread)
		assert.False(t, node.Devices[i].Temperature[gpu.SensorGPU].Known())
		require.ErrorContains(t, node.Problems[i].Err, "asleep")
	}
	assert.Equal(t, counts(2, 0), presence(node))
	assert.Nil(t, node.Failure)

	require.NoError(t, os.RemoveAll(filepath.Join(sys, "bus/pci/devices/0000:0b:00.0")))
	node = read(t, r)
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Equal(t, gpu.StateFailed, deviceOf(t, node, "GPU-b").State())

	power("0000:0a:00.0", "active")
	assert.NotEqual(t, epoch, read(t, r).Devices[0].Epoch, "without power counters started again")
}

func TestWakeDevices(t *testing.T) {
	for _, wake := range []bool{false, true} {
		r, err := NewLocal(Config{Query: QueryFast, WakeDevices: wake}, gpu.GroupAll)
		require.NoError(t, err)
		assert.Equal(t, runtime.GOOS == "linux" && !wake, r.sleep != nil)
	}
}
