// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A GPU for which the driver returns only errors is failed, and the others are not.
func TestEveryReadingFails(t *testing.T) {
	const everything = "function = nvmlDevice*, nvmlGpm*\nreturn = UNKNOWN"
	for name, tt := range map[string]struct{ first, then string }{
		"from the start":   {first: "[fault f]\ngpu = 1\n" + everything},
		"later":            {then: "[fault f]\ngpu = 1\n" + everything},
		"all but the UUID": {then: "[fault f]\ngpu = 1\nfunction = nvmlDevice*, nvmlGpm*, !nvmlDeviceGetUUID\nreturn = UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 3\n"+tt.first)
			if tt.then != "" {
				healthy(t, b.read(), 3)
				b.set(tt.then)
			}
			if tt.first != "" { // which GPU it is cannot be known then
				b.pci("0000:0d:00.0", "nvidia", "")
				b.information("0000:0d:00.0", "GPU UUID: \t GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01\n")
			}
			for range 5 { // also in reads in which what fails is not called
				n := b.read()
				healthy(t, n, 3, 1)
				failed(t, n, 1, gpu.FaultUnreachable)
				b.clock = b.clock.Add(30 * time.Second)
			}
			b.unhang("[fault f]\npresent = false")
			for range 70 { // what failed is called ever less often
				b.read()
			}
			assert.Equal(t, gpu.StateOK, gpuAt(t, b.read(), 1).State())
		})
	}
}

// The call that reads fields succeeds, and each of them fails.
func TestEveryFieldFails(t *testing.T) {
	b := start(t, "gpus = 1", gpu.GroupPower|gpu.GroupEnergy)
	assert.True(t, gpuAt(t, b.read(), 0).Power.Draw.Known())
	b.set("[fault e]\ngpu = 0\nfield = 83, 185, 191\nfunction = nvmlDeviceGetFieldValues\nreturn = UNKNOWN")
	for range 5 {
		failed(t, b.read(), 0, gpu.FaultUnreachable)
	}
}

// A board of which the driver supports no reading, not even the size of its memory, is failed. Values that the driver knows without the
// GPU, such as its modes and its processes, are not readings. The GPU of a processor is healthy.
func TestEveryReadingIsUnsupported(t *testing.T) {
	const (
		identity = "!nvmlDeviceGetHandle*, !nvmlDeviceGetUUID, !nvmlDeviceGetName, !nvmlDeviceGetPciInfo, !nvmlDeviceGetMinorNumber"
		states   = "!nvmlDeviceGetPersistenceMode, !nvmlDeviceGetComputeMode, !nvmlDeviceGet*RunningProcesses"
	)
	silent := "[fault f]\ngpu = 1\nfunction = nvmlDevice*, nvmlGpm*, " + identity + ", " + states + "\nreturn = NOT_SUPPORTED"
	for name, tt := range map[string]struct{ first, then string }{
		"from the start": {first: silent},
		"later":          {then: silent},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 3\n"+tt.first)
			if tt.then != "" {
				healthy(t, b.read(), 3)
				b.set(tt.then)
			}
			for range 3 {
				n := b.read()
				healthy(t, n, 3, 1)
				assert.Contains(t, failed(t, n, 1, gpu.FaultUnreachable).Faults[0].Message, "no values")
				assert.Nil(t, n.Failure)
			}
			b.set("[fault f]\npresent = false")
			for range 2 {
				b.read()
			}
			healthy(t, b.read(), 3)
		})
	}
	for name, scenario := range map[string]string{
		"Jetson":                  "gpus = 2\n[gpu 1]\nname = NVIDIA Thor\n" + silent,
		"GB10":                    "gpus = 2\n[gpu 1]\nboard = gb10\n" + silent,
		"no PCI bus":              "gpus = 2\n" + silent + "\n[fault g]\ngpu = 1\nfunction = nvmlDeviceGetPciInfo\nreturn = NOT_SUPPORTED",
		"the size of its memory":  "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDevice*, nvmlGpm*, !nvmlDeviceGetMemoryInfo, " + identity + "\nreturn = NOT_SUPPORTED",
		"any other reading of it": "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDevice*, nvmlGpm*, !nvmlDeviceGetTemperature, " + identity + "\nreturn = NOT_SUPPORTED",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, scenario)
			for range 3 {
				n := b.read()
				assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
				assert.Equal(t, gpu.StateOK, gpuAt(t, n, 1).State())
			}
		})
	}
}

// Queries of the memory alone are too few to decide about a GPU.
func TestMemoryIsUnsupported(t *testing.T) {
	b := start(t, "gpus = 1\n[fault f]\nfunction = nvmlDeviceGetMemoryInfo\nreturn = NOT_SUPPORTED", gpu.GroupMemory)
	for range 2 {
		assert.Equal(t, gpu.StateOK, gpuAt(t, b.read(), 0).State())
	}
}

// One reading that fails is a problem, not a fault.
func TestOneReadingFails(t *testing.T) {
	b := start(t, "gpus = 1\n[fault f]\ngpu = 0\nfunction = nvmlDeviceGetTemperature\nreturn = UNKNOWN", gpu.GroupTemperature)
	for range 3 {
		n := b.read()
		assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
		assert.NotEmpty(t, n.Problems)
	}
}

// An instance each of whose readings fails is failed; one whose readings are refused is unread. Its GPU and the other instances are neither.
func TestEveryReadingOfAnInstanceFails(t *testing.T) {
	for code, failed := range map[string]bool{"UNKNOWN": true, "NO_PERMISSION": false} {
		t.Run(code, func(t *testing.T) {
			b, before := steady(t)
			for i := range 5 {
				b.schedule(float64(20+10*i), "[fault f]\ngpu = 0\nmig = 0\nfunction = nvmlDevice*, nvmlGpm*, !nvmlDeviceGetUUID\nreturn = "+code)
				n := b.read()
				require.Equal(t, before.devices, ids(n))
				for i := range n.Devices {
					d := &n.Devices[i]
					if d != child(t, n, before.devices[0], 0) {
						assert.Equal(t, gpu.StateOK, d.State(), d.ID)
						assert.False(t, d.Unread, d.ID)
						continue
					}
					assert.Equal(t, !failed, d.Unread)
					assert.True(t, d.ProcessesUnread)
					if failed {
						require.Len(t, d.Faults, 1)
						assert.Equal(t, gpu.FaultUnreachable, d.Faults[0].Type)
					} else {
						assert.Empty(t, d.Faults)
					}
				}
				assert.NotEmpty(t, n.Problems)
				assert.Nil(t, n.Failure)
			}
		})
	}
}
