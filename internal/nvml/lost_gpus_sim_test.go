// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// One GPU of eight fails while the source runs. The others have all their data in the same read, and it recovers by itself.
func TestOneOfEight(t *testing.T) {
	tests := map[string]struct {
		fault   string
		want    gpu.FaultType
		visible bool // the driver still lists the GPU, without readings
	}{
		"lost":           {fault: "kind = lost", want: gpu.FaultLost},
		"lost for good":  {fault: "kind = lost\nat_start = true", want: gpu.FaultLost},
		"reset required": {fault: "kind = reset", want: gpu.FaultResetRequired, visible: true},
		"lost in the middle of a read": {
			fault: "function = nvmlDeviceGetTemperature\nreturn = GPU_IS_LOST", want: gpu.FaultLost,
		},
		"lost to fields": {fault: "field = 185\nfunction = nvmlDeviceGetFieldValues\nreturn = GPU_IS_LOST", want: gpu.FaultLost},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 8")
			before := b.read()
			healthy(t, before, 8)
			ident := *gpuAt(t, before, 3)
			epochs := gpuAt(t, before, 4).Epoch

			b.set("[fault f]\ngpu = 3\n" + tt.fault)
			for range 3 {
				n := b.read()
				healthy(t, n, 8, 3)
				d := failed(t, n, 3, tt.want)
				assert.Equal(t, [5]string{ident.ID, ident.Name, ident.Model, ident.Info.PCIAddress, ident.Info.Serial},
					[5]string{d.ID, d.Name, d.Model, d.Info.PCIAddress, d.Info.Serial})
				if tt.visible {
					assert.Equal(t, [2]int64{8, 0}, presence(n))
				} else {
					assert.Equal(t, [2]int64{7, 1}, presence(n))
				}
				assert.Equal(t, epochs, gpuAt(t, n, 4).Epoch, "of a healthy GPU")
			}

			b.set("")
			n := b.read()
			healthy(t, n, 8)
			assert.NotEqual(t, ident.Epoch, gpuAt(t, n, 3).Epoch, "its counters have started again")
			assert.Equal(t, [2]int64{8, 0}, presence(n))
		})
	}
}

func TestBadFromTheStart(t *testing.T) {
	const information = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 300\nGPU UUID: \t GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03\n" +
		"Video BIOS: \t 96.00.61.00.01\nBus Location: \t 0000:13:00.0\nDevice Minor: \t 3\nGPU Excluded:\t No\n"
	populate := func(b *bench) {
		for _, address := range []string{"0a", "0d", "10", "13", "16", "19", "1c", "1f"} {
			b.pci("0000:"+address+":00.0", "nvidia", "")
		}
	}
	const lost = "[fault f]\ngpu = 3\nkind = lost\nat_start = true"

	t.Run("identity from the kernel's driver", func(t *testing.T) {
		b := start(t, "gpus = 8\n"+lost)
		populate(b)
		b.information("0000:13:00.0", information)
		n := b.read()
		healthy(t, n, 8, 3)
		d := failed(t, n, 3, gpu.FaultLost)
		assert.Equal(t, "GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03", d.ID)
		assert.Equal(t, "nvidia3", d.Name)
		assert.Equal(t, "NVIDIA H100 80GB HBM3", d.Model)
		assert.Equal(t, gpu.NVIDIA, d.Vendor)
		assert.Equal(t, gpu.Info{
			PCIAddress: "0000:13:00.0", FirmwareVersion: "96.00.61.00.01", DriverVersion: "580.95.05",
		}, d.Info)
		assert.Equal(t, [2]int64{7, 1}, presence(n))

		b.set("[fault f]\npresent = false")
		n = b.read()
		healthy(t, n, 8)
		assert.Equal(t, "GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03", gpuAt(t, n, 3).ID)
	})
	t.Run("known by its address alone", func(t *testing.T) {
		b := start(t, "gpus = 8\n"+lost)
		populate(b)
		d := failed(t, b.read(), 3, gpu.FaultLost)
		assert.Empty(t, d.ID)
		assert.Equal(t, "0000:13:00.0", d.Info.PCIAddress)
	})
	t.Run("not known at all", func(t *testing.T) {
		b := start(t, "gpus = 8\n"+lost)
		n := b.read()
		require.Len(t, ids(n), 7)
		assert.Equal(t, [2]int64{7, 1}, presence(n))
		require.ErrorContains(t, problem(t, n, "handle").Err, "index 3: the GPU has fallen off the bus")
	})
	t.Run("not counted by NVML", func(t *testing.T) {
		b := start(t, "gpus = 8\n[gpu 3]\npresent = false")
		populate(b)
		n := b.read()
		require.Len(t, ids(n), 7, "it may be hidden from this container on purpose")
		assert.Equal(t, [2]int64{7, 1}, presence(n))
		b.information("0000:13:00.0", information)
		n = b.read()
		require.Len(t, ids(n), 8)
		d := n.Devices[7]
		assert.Equal(t, "GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03", d.ID)
		assert.Equal(t, gpu.FaultUnreachable, d.Faults[0].Type)
		assert.False(t, d.Index.Known(), "it has no index")
		b.information("0000:13:00.0", "GPU Excluded:\t Yes\n")
		assert.Len(t, ids(b.read()), 7)
	})
	t.Run("hung", func(t *testing.T) {
		b := start(t, "gpus = 8\n[fault f]\ngpu = 3\nfunction = nvmlDeviceGetHandleByIndex\nhang = true")
		populate(b)
		b.information("0000:13:00.0", information)
		b.readUntilHung(1)
		n := b.read()
		healthy(t, n, 8, 3)
		assert.Equal(t, "GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03", failed(t, n, 3, gpu.FaultHung).ID)
		b.unhang("[fault f]\npresent = false")
		healthy(t, b.read(), 8)
	})
}

// Two handles with the same UUID, or without one, are not read as one GPU.
func TestSameUUID(t *testing.T) {
	for _, uuid := range []string{"GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00", ""} {
		b := start(t, "gpus = 2\n[gpu 1]\nuuid = "+uuid)
		n := b.read()
		require.Len(t, ids(n), 1)
		assert.Equal(t, [2]int64{1, 1}, presence(n))
		require.Error(t, problem(t, n, "handle").Err)
		require.NoError(t, b.Close())
	}
}

// A driver that is gone may be back within the same read: that its counters have started again is noted when it goes.
func TestCountersRestartWithTheDriver(t *testing.T) {
	b := start(t, "gpus = 1")
	epoch := gpuAt(t, b.read(), 0).Epoch
	b.driverGone(library.Uninitialized)
	require.ErrorIs(t, b.driver.failure.err, library.Uninitialized)
	assert.NotEqual(t, epoch, gpuAt(t, b.read(), 0).Epoch)
}

// After the first failed call for a lost GPU, no further calls for it are made, except one for its handle if it must be reset.
func TestNoCallAfterTheGPUIsLost(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	for ret, failures := range map[string]uint64{"GPU_IS_LOST": 1, "RESET_REQUIRED": 2} {
		t.Run(ret, func(t *testing.T) {
			b := start(t, "gpus = 2")
			for range 3 {
				healthy(t, b.read(), 2)
			}
			b.set("[fault f]\ngpu = 1\nfunction = nvmlDevice*\nreturn = " + ret)
			counters.Reset()
			n := b.read()
			assert.Equal(t, gpu.StateFailed, gpuAt(t, n, 1).State())
			assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
			assert.Equal(t, failures, counters.TotalErrors(), counters.LastError())
		})
	}
}
