// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestModes(t *testing.T) {
	for printed, want := range map[string]map[gpu.ModeName]gpu.Mode{
		"<persistence_mode>Disabled</persistence_mode>":      {gpu.ModePersistence: {Value: "disabled"}},
		"<persistence_mode>N/A</persistence_mode>":           {},
		"<persistence_mode>Unknown Error</persistence_mode>": {},
		"<compute_mode>Exclusive_Process</compute_mode>":     {gpu.ModeCompute: {Value: "exclusive_process"}},
		"<compute_mode>Prohibited</compute_mode>":            {gpu.ModeCompute: {Value: "prohibited"}},
		"<ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Disabled</pending_ecc></ecc_mode>": {
			gpu.ModeECC: {Value: "enabled", Pending: gpu.Some(true)},
		},
		"<ecc_mode><pending_ecc>Disabled</pending_ecc></ecc_mode>":                              {},
		"<mig_mode><current_mig>Enabled</current_mig><pending_mig>N/A</pending_mig></mig_mode>": {gpu.ModeMIG: {Value: "enabled"}},
		"<mig_mode><current_mig>Disabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>": {
			gpu.ModeMIG: {Value: "disabled", Pending: gpu.Some(true)},
		},
		"<gpu_virtualization_mode><virtualization_mode>None</virtualization_mode></gpu_virtualization_mode>":         {gpu.ModeVirtualization: {Value: "none"}},
		"<gpu_virtualization_mode><virtualization_mode>Pass-Through</virtualization_mode></gpu_virtualization_mode>": {gpu.ModeVirtualization: {Value: "pass_through"}},
		"<gpu_virtualization_mode><virtualization_mode>Host VGPU</virtualization_mode></gpu_virtualization_mode>":    {gpu.ModeVirtualization: {Value: "host_vgpu"}},
		"<gpu_virtualization_mode><virtualization_mode>N/A</virtualization_mode></gpu_virtualization_mode>":          {},
		"<gsp_firmware_version>580.65.06</gsp_firmware_version>":                                                     {gpu.ModeGSP: {Value: "enabled"}},
		"<gsp_firmware_version>N/A</gsp_firmware_version>":                                                           {},
	} {
		got := map[gpu.ModeName]gpu.Mode{}
		for m, mode := range oneGPU(t, printed).Device.Modes {
			if mode != (gpu.Mode{}) {
				got[gpu.ModeName(m)] = mode
			}
		}
		assert.Equal(t, want, got, printed)
	}
	g := oneRow(t, "uuid, persistence_mode, compute_mode, ecc.mode.current, ecc.mode.pending, mig.mode.current, mig.mode.pending, gsp.mode.current",
		"GPU-1, Enabled, Default, Enabled, Enabled, [N/A], [N/A], Disabled")
	assert.Equal(t, [gpu.NumModes]gpu.Mode{
		gpu.ModePersistence: {Value: "enabled"}, gpu.ModeCompute: {Value: "default"}, gpu.ModeECC: {Value: "enabled", Pending: gpu.Some(false)},
		gpu.ModeGSP: {Value: "disabled"},
	}, g.Device.Modes)
}

// A board prints a licence of applications, too. The metric is about a virtual GPU, which needs one to run at its speed.
func TestLicense(t *testing.T) {
	for _, tt := range []struct {
		mode, status string
		want         gpu.Opt[bool]
	}{
		{"VGPU", "Licensed (Expiry: 2027-1-2 3:4:5 GMT)", gpu.Some(true)},
		{"VGPU", "Unlicensed (Restricted)", gpu.Some(false)},
		{"VGPU", "Unlicensed", gpu.Some(false)},
		{"VGPU", "N/A", gpu.Opt[bool]{}},
		{"VGPU", "Fetching", gpu.Opt[bool]{}},
		{"None", "Licensed (Expiry: N/A)", gpu.Opt[bool]{}},
		{"Pass-Through", "Unlicensed", gpu.Opt[bool]{}},
	} {
		g := oneGPU(t, "<gpu_virtualization_mode><virtualization_mode>"+tt.mode+"</virtualization_mode></gpu_virtualization_mode>"+
			"<vgpu_software_licensed_product><license_status>"+tt.status+"</license_status></vgpu_software_licensed_product>")
		assert.Equal(t, tt.want, g.Device.VGPULicensed, "%s: %s", tt.mode, tt.status)
	}
}

func TestSessions(t *testing.T) {
	g := oneRow(t, "uuid, encoder.stats.sessionCount, encoder.stats.averageFps, encoder.stats.averageLatency", "GPU-1, 2, 107, 99454")
	assert.Equal(t, gpu.Sessions{Count: gpu.Some(int64(2)), FrameRate: gpu.Some(107.0), Latency: gpu.Some(0.099454)}, g.Device.Encoder, "microseconds")
	g = oneRow(t, "uuid, encoder.stats.sessionCount, encoder.stats.averageFps, encoder.stats.averageLatency", "GPU-1, 0, 0, 0")
	assert.Equal(t, gpu.Sessions{Count: gpu.Some(int64(0))}, g.Device.Encoder, "no session has no mean")
	g = oneGPU(t, "<fbc_stats><session_count>1</session_count><average_fps>60</average_fps><average_latency>N/A</average_latency></fbc_stats>")
	assert.Equal(t, gpu.Sessions{Count: gpu.Some(int64(1)), FrameRate: gpu.Some(60.0)}, g.Device.FrameBuffer)
}

func TestVoltage(t *testing.T) {
	for printed, want := range map[string][]gpu.SensorValue{
		"693.750 mV": {{Location: "gfx", Value: gpu.Some(0.69375)}}, "0.000 mV": nil, "N/A": nil, "-1.0 mV": nil, "900000 mV": nil,
	} {
		assert.Equal(t, want, oneGPU(t, "<voltage><graphics_volt>"+printed+"</graphics_volt></voltage>").Device.Voltage, printed)
	}
}
