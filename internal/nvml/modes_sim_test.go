// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func TestModes(t *testing.T) {
	enabled, off := gpu.Mode{Value: "enabled", Pending: gpu.Some(false)}, gpu.Mode{Value: "disabled", Pending: gpu.Some(false)}
	for name, tt := range map[string]struct {
		board string
		want  [gpu.NumModes]gpu.Mode
	}{
		"h100": {"h100", [gpu.NumModes]gpu.Mode{
			gpu.ModePersistence: {Value: "enabled"}, gpu.ModeCompute: {Value: "default"}, gpu.ModeVirtualization: {Value: "none"},
			gpu.ModeGSP: {Value: "enabled"}, gpu.ModeECC: enabled, gpu.ModeMIG: off,
		}},
		"changes wait": {
			"h100\necc.pending = 0\nmig.pending = 1\npersistence = 0\ncompute_mode = 3\nvirtualization = 1\ngsp.mode = 0",
			[gpu.NumModes]gpu.Mode{
				gpu.ModePersistence: {Value: "disabled"}, gpu.ModeCompute: {Value: "exclusive_process"},
				gpu.ModeVirtualization: {Value: "pass_through"}, gpu.ModeGSP: {Value: "disabled"},
				gpu.ModeECC: {Value: "enabled", Pending: gpu.Some(true)}, gpu.ModeMIG: {Value: "disabled", Pending: gpu.Some(true)},
			},
		},
		"geforce": {"geforce\ngsp.mode = unsupported", [gpu.NumModes]gpu.Mode{
			gpu.ModePersistence: {Value: "disabled"}, gpu.ModeCompute: {Value: "default"}, gpu.ModeVirtualization: {Value: "none"},
		}},
		"unknown": {"geforce\ngsp.mode = unsupported\npersistence = 7\ncompute_mode = 9\nvirtualization = 12", [gpu.NumModes]gpu.Mode{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+tt.board)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				assert.Equal(t, tt.want, gpuAt(t, n, 0).Modes)
			}
		})
	}
}

// A mode that cannot change while the driver stays is queried once.
func TestConstantModes(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 1\n[gpu 0]\nboard = h100", gpu.GroupModes|gpu.GroupVGPULicense)
	b.read()
	counters.Reset()
	assert.Equal(t, "none", gpuAt(t, b.read(), 0).Modes[gpu.ModeVirtualization].Value)
	assert.Zero(t, counters.Calls("nvmlDeviceGetVirtualizationMode"))
	assert.Zero(t, counters.Calls("nvmlDeviceGetGspFirmwareMode"))
}

// Only a virtual GPU has a licence.
func TestVGPULicense(t *testing.T) {
	for name, tt := range map[string]struct {
		scenario string
		want     gpu.Opt[bool]
	}{
		"licensed":       {"virtualization = 2\nlicense = 1", gpu.Some(true)},
		"unlicensed":     {"virtualization = 2\nlicense = 0", gpu.Some(false)},
		"no licensing":   {"virtualization = 2\nlicense = 2", gpu.Opt[bool]{}},
		"not supported":  {"virtualization = 2\nlicense = unsupported", gpu.Opt[bool]{}},
		"no virtual GPU": {"license = 0", gpu.Opt[bool]{}},
		"passed through": {"virtualization = 1\nlicense = 0", gpu.Opt[bool]{}},
		"mode not known": {"virtualization = unsupported\nlicense = 0", gpu.Opt[bool]{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\n"+tt.scenario, gpu.GroupVGPULicense)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				assert.Equal(t, tt.want, gpuAt(t, n, 0).VGPULicensed)
			}
		})
	}
}
