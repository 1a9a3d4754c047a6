// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const (
	zero   = "GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00"
	one    = "GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01"
	other  = "GPU-11111111-2222-3333-4444-555555555555"
	others = "[gpu 1]\nuuid = " + other + "\n"
)

// A GPU in whose place another one is found ends, whether or not the driver is closed between reads.
func TestReplaced(t *testing.T) {
	for name, keep := range map[string]bool{"kept open": true, "opened for each read": false} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2\ntime = manual", func(c *Config) { c.KeepOpen = keep })
			b.pci("0000:0a:00.0", "nvidia", "")
			b.pci("0000:0d:00.0", "nvidia", "")
			require.Equal(t, []string{zero, one}, ids(b.read()))
			old := b.gpus.all[1]
			epochs := []uint64{gpuAt(t, b.read(), 1).Epoch}

			for i := range 3 {
				b.schedule(float64(i+1)*handleTrust.Seconds(), others)
				n := b.read()
				healthy(t, n, 2)
				assert.Equal(t, []string{zero, other}, ids(n))
				assert.Equal(t, "0000:0d:00.0", gpuAt(t, n, 1).Info.PCIAddress)
				assert.Equal(t, [gpu.NumPresences]int64{2, 0, 0}, all(n))
				assert.Empty(t, n.Problems)
			}
			epochs = append(epochs, gpuAt(t, b.read(), 1).Epoch)
			assert.Len(t, b.gpus.all, 2)
			assert.NotContains(t, b.xids.counts, old)

			b.schedule(10*handleTrust.Seconds(), "") // and back
			n := b.read()
			assert.Equal(t, []string{zero, one}, ids(n))
			assert.NotContains(t, epochs, gpuAt(t, n, 1).Epoch, "its counters may have started again")
		})
	}
}

// A lost GPU ends when another one takes its place.
func TestReplacedAfterItWasLost(t *testing.T) {
	b := start(t, "gpus = 2\n[gpu 1]\nmig = 1\n[mig 1 0]\nprofile = 7g.80gb\ngi = 0\nci = 0")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	require.Len(t, ids(b.read()), 3)
	b.set("[fault f]\ngpu = 1\nkind = lost\nat_start = true")
	for range 3 {
		n := b.read()
		require.Len(t, ids(n), 3, "with its instance")
		failed(t, n, 1, gpu.FaultLost)
		assert.Equal(t, [gpu.NumPresences]int64{1, 1, 0}, all(n))
	}
	b.set("[fault f]\npresent = false\n[gpu 1]\nmig = 0\nuuid = " + other)
	n := b.read()
	healthy(t, n, 2)
	assert.Equal(t, []string{zero, other}, ids(n))
	assert.Equal(t, [gpu.NumPresences]int64{2, 0, 0}, all(n))
}

// While the address of either is not known, both stay.
func TestReplacedByOneWithoutAnAddress(t *testing.T) {
	const fault = "[fault f]\ngpu = 1\nfunction = nvmlDeviceGetPciInfo\nreturn = UNKNOWN"
	b := start(t, "gpus = 2", func(c *Config) { c.KeepOpen = false })
	b.read()
	b.set(others + fault)
	n := b.read()
	assert.ElementsMatch(t, []string{zero, one, other}, ids(n))
	b.set(others)
	n = b.read()
	assert.Equal(t, []string{zero, other}, ids(n), "now it is known")
	healthy(t, n, 2)
}

// A GPU that is gone and whose place stays empty is missing, whatever else appears.
func TestNotReplaced(t *testing.T) {
	b := start(t, "gpus = 3\n[gpu 2]\npresent = false", func(c *Config) { c.KeepOpen = false })
	require.Equal(t, []string{zero, one}, ids(b.read()))
	b.set("[gpu 1]\npresent = false\n[gpu 2]\npresent = true")
	for range 3 {
		n := b.read()
		require.Len(t, ids(n), 3)
		assert.Equal(t, [2]int64{2, 1}, presence(n))
		for i := range n.Devices {
			want := gpu.StateOK
			if n.Devices[i].ID == one {
				want = gpu.StateFailed
			}
			assert.Equal(t, want, n.Devices[i].State(), n.Devices[i].ID)
		}
	}
}

// A GPU with an outstanding call is not forgotten before the call returns. Both GPUs are at one address here, so that the one that was read
// could be taken for the other's replacement.
func TestHungGPUIsNotForgotten(t *testing.T) {
	for name, fault := range map[string]string{
		"while it is read":       "function = nvmlDeviceGetTemperature",
		"while it is identified": "function = nvmlDeviceGetSerial",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2\n[gpu 0]\nbus_id = 0000:0d:00", func(c *Config) { c.KeepOpen = false })
			require.Len(t, ids(b.read()), 2)
			const upgraded = "driver.version = 590.1\n" // so that all GPUs are identified again
			b.set(upgraded + "[fault f]\ngpu = 1\nhang = true\n" + fault)
			n := b.readUntilHung(1)
			healthy(t, n, 2, 1)
			failed(t, n, 1, gpu.FaultHung)
			require.Len(t, b.gpus.all, 2)
			b.unhang(upgraded + "[fault f]\npresent = false")
			n = b.read()
			healthy(t, n, 2)
			assert.Equal(t, "590.1", gpuAt(t, n, 1).Info.DriverVersion)
		})
	}
}

// Two GPUs that change places within a session are found again.
func TestExchanged(t *testing.T) {
	b := start(t, "gpus = 2\ntime = manual")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	b.read()
	for i := range 3 {
		b.schedule(float64(i+1)*handleTrust.Seconds(), "[gpu 0]\nuuid = "+one+"\n[gpu 1]\nuuid = "+zero)
		b.read()
	}
	n := b.read()
	healthy(t, n, 2)
	assert.Equal(t, []string{one, zero}, ids(n))
	assert.Equal(t, [2]int64{2, 0}, presence(n))
}

// The check of the GPU of a handle costs one call from time to time, not at each read. A GPU that did not answer is checked immediately.
func TestUUIDIsAskedNowAndThen(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 2\ntime = manual")
	b.read()
	counters.Reset()
	for i := range 6 { // a minute
		b.schedule(float64(10*(i+1)), "")
		b.read()
		want := uint64(0)
		if i == 5 {
			want = 2
		}
		assert.Equal(t, want, counters.Calls("nvmlDeviceGetUUID"), "after %d s", 10*(i+1))
	}
	b.schedule(120, "[fault f]\nfunction = nvmlDeviceGetUUID\nreturn = UNKNOWN")
	healthy(t, b.read(), 2)
}

// An XID of a GPU that was replaced is dropped.
func TestXIDOfAReplacedGPU(t *testing.T) {
	var x xids
	missing := &knownGPU{}
	x.watch(missing, manualEpoch)
	x.forget(missing)
	x.add(missing, 79, nil, manualEpoch)
	assert.Empty(t, x.take())
	devices := make([]gpu.Device, 1)
	x.setTotals(missing, devices)
	assert.Empty(t, devices[0].XIDs)
}

// If an index has the GPU that another index had before, the GPU that is left without an index is found when NVML is opened again.
func TestIndicesMixedUp(t *testing.T) {
	b := start(t, "gpus = 2\ntime = manual")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	b.read()
	b.schedule(handleTrust.Seconds(), "order = 1,0\n"+others)
	b.read()
	n := b.read()
	healthy(t, n, 2)
	assert.ElementsMatch(t, []string{zero, other}, ids(n))
	assert.Equal(t, [2]int64{2, 0}, presence(n))
}

// GPUs that are lost before it is known what they are are forgotten.
func TestLostBeforeItIsKnown(t *testing.T) {
	b := start(t, "gpus = 2")
	for i := range 5 {
		b.set(fmt.Sprintf("[gpu 1]\nuuid = GPU-%d\n[fault f]\ngpu = 1\nfunction = nvmlDeviceGetName\nreturn = GPU_IS_LOST", i))
		n := b.read()
		assert.Equal(t, [2]int64{1, 1}, presence(n))
		assert.Len(t, b.gpus.all, 1)
	}
	b.set("")
	healthy(t, b.read(), 2)
}

// What was read through a handle before it was seen to be another GPU's may be of the other GPU: its instances are not on both.
func TestInstancesOfAReplacedGPU(t *testing.T) {
	const mig = "[mig 1 0]\nuuid = MIG-3b7d9e99-5eed-5a11-9e0f-decaf0000099\n"
	b := start(t, "gpus = 2\ntime = manual\n[gpu 1]\nmig = 1\n[mig 1 0]\nprofile = 7g.80gb\ngi = 0\nci = 0")
	require.Len(t, ids(b.read()), 3)
	b.schedule(10, others+mig)
	b.read()
	b.schedule(handleTrust.Seconds(), others+mig+"[fault f]\ngpu = 1\nfunction = nvmlDeviceGetPciInfo\nreturn = UNKNOWN")
	assert.Contains(t, ids(b.read()), other)
	b.schedule(2*handleTrust.Seconds(), "")
	n := b.read()
	index := slices.Index(ids(n), one)
	require.GreaterOrEqual(t, index, 0)
	assert.Equal(t, one, n.Devices[index+1].Parent, "it has its own again")
}
