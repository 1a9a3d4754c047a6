// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func all(n *gpu.Node) [gpu.NumPresences]int64 {
	var p [gpu.NumPresences]int64
	for i, v := range n.Presence {
		p[i], _ = v.Get()
	}
	return p
}

// A GPU is given to a virtual machine while the source runs, and comes back.
func TestUnmanaged(t *testing.T) {
	b := start(t, "gpus = 2")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	b.pci("0000:99:00.0", "", "")
	n := b.read()
	healthy(t, n, 2)
	assert.Equal(t, [gpu.NumPresences]int64{2, 1, 0}, all(n), "one has no driver")
	epochs := [2]uint64{gpuAt(t, n, 0).Epoch, gpuAt(t, n, 1).Epoch}

	b.set("[gpu 1]\npresent = false")
	b.pci("0000:0d:00.0", "vfio-pci", "")
	n = b.read()
	require.Len(t, ids(n), 1, "the other GPU is not this machine's")
	assert.Equal(t, [gpu.NumPresences]int64{1, 1, 1}, all(n))

	b.set("")
	b.pci("0000:0d:00.0", "nvidia", "")
	n = b.read()
	healthy(t, n, 2)
	assert.Equal(t, [gpu.NumPresences]int64{2, 1, 0}, all(n))
	assert.Equal(t, epochs[0], gpuAt(t, n, 0).Epoch)
	assert.NotEqual(t, epochs[1], gpuAt(t, n, 1).Epoch, "its counters have started again")
}

// A GPU disappears from the PCI bus: it stays in the node, lost.
func TestFallenOffTheBus(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 2")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	healthy(t, b.read(), 2)
	b.set("[gpu 0]\npresent = false")
	require.NoError(t, os.RemoveAll(filepath.Join(b.sys, "bus/pci/devices/0000:0a:00.0")))
	b.clock = b.clock.Add(time.Minute)
	for range 2 {
		n := b.read()
		healthy(t, n, 2, 0)
		assert.Contains(t, failed(t, n, 0, gpu.FaultLost).Faults[0].Message, "not on the PCI bus")
		assert.Equal(t, [gpu.NumPresences]int64{1, 1, 0}, all(n))
		assert.Equal(t, gpu.Some(1), gpuAt(t, n, 1).Index, "although NVML numbers it 0 now")
		assert.Equal(t, gpu.Some(0), gpuAt(t, n, 1).CurrentIndex)
		assert.False(t, gpuAt(t, n, 0).CurrentIndex.Known(), "NVML does not show it")
	}
	counters.Reset()
	for range 20 {
		healthy(t, b.read(), 2, 0)
	}
	assert.Zero(t, counters.Calls("nvmlInit_v2"), "no reset can help, and the other has its data between reads too")

	b.set("[gpu 0]\npresent = true")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.clock = b.clock.Add(time.Minute)
	b.read()
	n := b.read()
	healthy(t, n, 2)
	assert.Equal(t, gpu.Some(1), gpuAt(t, n, 1).CurrentIndex)
	assert.EqualValues(t, 1, counters.Calls("nvmlInit_v2"), "once, to see it")
}

// NVML does not show a GPU that the kernel's driver has: NVML is opened again to find it, ever less often.
func TestReopensForUnlistedGPUs(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 1")
	b.pci("0000:0a:00.0", "nvidia", "")
	healthy(t, b.read(), 1)
	b.pci("0000:1b:00.0", "nvidia", "")
	b.information("0000:1b:00.0", "Model: NVIDIA A2\n")
	b.clock = b.clock.Add(time.Minute)
	counters.Reset()
	for range 40 { // ten minutes
		n := b.read()
		require.Len(t, ids(n), 2)
		healthy(t, &gpu.Node{Devices: n.Devices[:1]}, 1)
		assert.Equal(t, gpu.FaultUnreachable, n.Devices[1].Faults[0].Type)
		b.clock = b.clock.Add(15 * time.Second)
	}
	inits := counters.Calls("nvmlInit_v2")
	assert.Greater(t, inits, uint64(3))
	assert.Less(t, inits, uint64(8))
	require.NoError(t, os.RemoveAll(filepath.Join(b.sys, "bus/pci/devices/0000:1b:00.0")))
	b.clock = b.clock.Add(time.Minute)
	assert.Len(t, ids(b.read()), 1)
}

// GPUs that appear are found at the next read.
func TestGPUAppears(t *testing.T) {
	b := start(t, "gpus = 4\n[gpu 1]\npresent = false")
	before := ids(b.read())
	require.Len(t, before, 3)
	b.set("[gpu 1]\npresent = true")
	n := b.read()
	require.Len(t, ids(n), 4)
	for _, id := range before {
		assert.Contains(t, ids(n), id)
	}
	for i := range 4 {
		gpuAt(t, n, i) // each index once
	}
}

// Without the library, a GPU of the PCI bus is one that should be read, whatever driver has it, unless it is reserved for a virtual machine.
func TestNoLibrary(t *testing.T) {
	for driver, should := range map[string]bool{"": true, "nvidia": true, "nouveau": true, "vfio-pci": false, "pciback": false} {
		t.Run("driver "+driver, func(t *testing.T) {
			sys := t.TempDir()
			pciDevice(t, sys, "0000:1b:00.0", "0x10de", "0x038000", driver)
			cfg := DefaultConfig()
			cfg.LibraryPath = filepath.Join(sys, "libnvidia-ml.so.1")
			s := New(&cfg, gpu.GroupAll, WithSysRoot(sys), WithProcRoot(t.TempDir()), WithPatience(unhurried))
			n, err := s.Read(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Close())
			assert.Equal(t, should, n.HasGPU())
			require.NotNil(t, n.Failure)
			assert.Equal(t, gpu.FailureLibrary, n.Failure.Reason)
			require.Len(t, n.Problems, 1)
			require.EqualError(t, n.Problems[0].Err, n.Failure.Error())
			require.ErrorContains(t, n.Failure, "set library_path to another file, or leave it out to search the usual places")
			if should {
				require.ErrorContains(t, n.Failure, "NVIDIA GPU at PCI address 0000:1b:00.0")
			} else {
				assert.NotContains(t, n.Failure.Error(), "PCI address")
			}
		})
	}
}
