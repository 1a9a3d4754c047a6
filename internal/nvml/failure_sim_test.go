// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// unread requires that a GPU is there, as what it is, and that nothing is reported about it.
func unread(t *testing.T, n *gpu.Node, index int) {
	t.Helper()
	for i := range n.Devices {
		d := &n.Devices[i]
		if got, _ := d.Index.Get(); got != index {
			continue
		}
		assert.True(t, d.Unread)
		assert.True(t, d.ProcessesUnread)
		assert.Empty(t, d.Faults)
		assert.Equal(t, gpu.Device{
			ID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Index: d.Index, Epoch: d.Epoch, Info: d.Info,
			Unread: true, ProcessesUnread: true,
		}, *d, "no readings")
		assert.NotEmpty(t, d.ID)
		return
	}
	require.FailNow(t, "no such GPU")
}

// A missing driver, missing permissions, and a library that does not work, say nothing about the GPUs, which stay, unread. GPUs are failed
// if the driver reports it.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		fault    string
		reason   gpu.FailureReason
		failed   bool
		restarts bool // counters
	}{
		"initialising is not permitted": {"function = nvmlInit\nreturn = NO_PERMISSION", gpu.FailurePermission, false, false},
		"the device files are gone":     {"function = nvmlInit\nreturn = UNKNOWN", gpu.FailureOther, false, false},
		"its own library is missing":    {"function = nvmlInit\nreturn = LIBRARY_NOT_FOUND", gpu.FailureLibrary, false, false},
		"handles are not permitted":     {"gpu = *\nfunction = nvmlDeviceGetHandleByIndex\nreturn = NO_PERMISSION", gpu.FailurePermission, false, false},
		"the cgroup blocks the GPUs":    {"gpu = *\nfunction = nvmlDevice*\nreturn = OPERATING_SYSTEM", gpu.FailurePermission, false, false},
		"every reading is refused":      {"gpu = *\nfunction = nvmlDeviceGet*, nvmlGpm*, !nvmlDeviceGetHandle*, !nvmlDeviceGetUUID\nreturn = NO_PERMISSION", gpu.FailurePermission, false, false},
		"the driver is not loaded":      {"return = DRIVER_NOT_LOADED", gpu.FailureDriver, false, true},
		"the driver was replaced":       {"return = LIB_RM_VERSION_MISMATCH", gpu.FailureDriver, true, true},
		"initialising timed out":        {"function = nvmlInit\nreturn = TIMEOUT", gpu.FailureTimeout, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2", func(c *Config) { c.KeepOpen = false })
			b.pci("0000:0a:00.0", "nvidia", "")
			b.pci("0000:0d:00.0", "nvidia", "")
			b.pci("0000:0e:00.0", "vfio-pci", "")
			n := b.read()
			healthy(t, n, 2)
			assert.Nil(t, n.Failure)
			epoch := gpuAt(t, n, 0).Epoch

			b.set("[fault f]\n" + c.fault)
			for range 3 {
				n := b.read()
				require.NotNil(t, n.Failure)
				assert.Equal(t, c.reason, n.Failure.Reason, n.Failure.Error())
				require.NotEmpty(t, n.Problems)
				require.Len(t, n.Devices, 2)
				if c.failed {
					assert.Equal(t, gpu.StateFailed, gpuAt(t, n, 0).State())
					assert.Equal(t, [2]int64{0, 2}, presence(n))
					continue
				}
				unread(t, n, 0)
				unread(t, n, 1)
				assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{gpu.Missing: gpu.Some[int64](0), gpu.Unmanaged: gpu.Some[int64](1)}, n.Presence)
			}
			b.set("[fault f]\npresent = false")
			b.clock = b.clock.Add(retryPolicy.Max)
			n = b.read()
			healthy(t, n, 2)
			assert.Nil(t, n.Failure)
			assert.Empty(t, n.Problems)
			assert.Equal(t, c.restarts, epoch != gpuAt(t, n, 0).Epoch, "its counters continue")
		})
	}
}

// One of the GPUs may not be read: the others are, and so the source is.
func TestOneGPUIsNotPermitted(t *testing.T) {
	for name, known := range map[string]bool{"known": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			const fault = "[fault f]\ngpu = 1\nfunction = nvmlDevice*\nreturn = NO_PERMISSION\nat_start = true"
			b := start(t, "gpus = 2", func(c *Config) { c.KeepOpen = false })
			b.pci("0000:0a:00.0", "nvidia", "")
			b.pci("0000:0d:00.0", "nvidia", "")
			b.information("0000:0d:00.0", "GPU UUID: \t GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01\n")
			if known {
				b.read()
			}
			b.set(fault)
			n := b.read()
			healthy(t, n, 2, 1)
			assert.Nil(t, n.Failure)
			d := gpuAt(t, n, 1)
			assert.True(t, d.Unread)
			assert.Empty(t, d.Faults)
			assert.Equal(t, "GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01", d.ID)
			assert.Equal(t, [2]int64{1, 0}, presence(n))
			require.ErrorContains(t, problem(t, n, "GPU").Err, "not permitted; run the collector as a user")
			assert.Equal(t, d.ID, problem(t, n, "GPU").Device)
		})
	}
}

// A GPU that has left the PCI bus is lost, whether or not NVML may be used.
func TestNotPermittedAndOffTheBus(t *testing.T) {
	b := start(t, "gpus = 2", func(c *Config) { c.KeepOpen = false })
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	b.read()
	require.NoError(t, os.RemoveAll(filepath.Join(b.sys, "bus/pci/devices/0000:0d:00.0")))
	for _, function := range []string{"nvmlInit", "nvmlDeviceGetHandleByIndex"} {
		b.set("[fault f]\nfunction = " + function + "\nreturn = NO_PERMISSION")
		b.clock = b.clock.Add(retryPolicy.Max)
		n := b.read()
		unread(t, n, 0)
		assert.Contains(t, failed(t, n, 1, gpu.FaultLost).Faults[0].Message, "not on the PCI bus")
		assert.Equal(t, [2]int64{0, 1}, presence(n))
	}
}

// What was not begun before the time was over is not hung.
func TestNotBegun(t *testing.T) {
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprintf("keep open %v", keep), func(t *testing.T) {
			b := start(t, "gpus = 2", func(c *Config) { c.KeepOpen = keep })
			healthy(t, b.read(), 2)
			over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
			defer cancel()
			n, err := b.Read(over)
			require.NoError(t, err)
			unread(t, n, 0)
			unread(t, n, 1)
			require.NotNil(t, n.Failure)
			assert.Equal(t, gpu.FailureTimeout, n.Failure.Reason)
			require.ErrorContains(t, n.Failure, "raise timeout")
			require.NotEmpty(t, n.Problems)
			for _, p := range n.Problems {
				require.ErrorContains(t, p.Err, "raise timeout")
			}
			assert.False(t, n.Presence[gpu.Visible].Known())
			n = b.read()
			healthy(t, n, 2)
			assert.Nil(t, n.Failure)
			assert.Empty(t, n.Problems)
		})
	}
}

// A call that is slower than the time for a read is not hung: it has not been outstanding for long. The other GPUs are read.
func TestSlowCalls(t *testing.T) {
	for name, c := range map[string]struct {
		fault  string
		calls  int
		unread []int
		source bool // cannot be read
	}{
		"of one GPU":  {"gpu = 1\nfunction = nvmlDeviceGetTemperature", 1, []int{1}, false},
		"of all GPUs": {"gpu = *\nfunction = nvmlDevice*", 2, []int{0, 1}, true},
		"nvmlInit":    {"function = nvmlInit", 1, []int{0, 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2", WithHungAfter(time.Hour), func(c *Config) { c.KeepOpen = name != "nvmlInit" })
			n := b.read()
			healthy(t, n, 2)
			epoch := gpuAt(t, n, 1).Epoch
			b.set("[fault f]\nhang = true\n" + c.fault)
			for i := range 3 {
				read := b.read
				if i == 0 {
					read = func() *gpu.Node { return b.readUntilHung(c.calls) }
				}
				n := read()
				healthy(t, n, 2, c.unread...)
				for _, index := range c.unread {
					unread(t, n, index)
				}
				require.NotEmpty(t, n.Problems)
				require.Equal(t, c.source, n.Failure != nil)
				if c.source {
					assert.Equal(t, gpu.FailureTimeout, n.Failure.Reason)
					assert.False(t, n.Presence[gpu.Visible].Known())
				}
			}
			b.unhang("[fault f]\npresent = false")
			n = b.read()
			healthy(t, n, 2)
			assert.Nil(t, n.Failure)
			assert.Empty(t, n.Problems)
			assert.Equal(t, epoch, gpuAt(t, n, 1).Epoch, "its counters continue")
		})
	}
}
