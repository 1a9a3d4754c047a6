// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// What is special about keys in some versions, one card each.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		card  string
		check func(t *testing.T, d *gpu.Device)
	}{
		{
			"ROCm 3", `"Unique ID": "249220e172fc1a88", "vram Total Memory (B)": "17163091968", "vram Total Used Memory (B)": "19095552",
			"sclk clock speed": "808Mhz", "sclk clock level": "1", "mclk clock speed": "350Mhz", "Fan Speed (%)": "20",
			"Temperature (Sensor mem) (C)": "32.0", "GPU memory use (%)": "7", "PCI Bus": "0000:06:00.0"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				assert.Equal(t, "249220e172fc1a88", d.ID)
				smitest.RequireValue(t, int64(17163091968), d.Memory.Limit, "limit")
				smitest.RequireValue(t, int64(19095552), d.Memory.Usage, "usage")
				smitest.RequireNear(t, 808e6, d.Clocks[gpu.ClockGraphics].Speed, "sclk")
				smitest.RequireNear(t, 350e6, d.Clocks[gpu.ClockMemory].Speed, "mclk")
				smitest.RequireNear(t, 32, d.Temperature[gpu.SensorMemory], "memory temperature")
				smitest.RequireNear(t, 0.07, d.MemoryController, "controller")
				require.Len(t, d.Fans, 1)
				smitest.RequireNear(t, 0.2, d.Fans[0].Ratio, "fan")
			},
		},
		{
			"memory use is the controller's", `"GPU memory use (%)": "33"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				smitest.RequireNear(t, 0.33, d.MemoryController, "controller")
			},
		},
		{
			"allocated is not", `"GPU Memory Allocated (VRAM%)": "90"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				assert.False(t, d.MemoryController.Known())
				assert.False(t, d.Memory.Usage.Known())
			},
		},
		{
			"both after the renaming", `"GPU Memory Allocated (VRAM%)": "90", "GPU Memory Read/Write Activity (%)": "4"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				smitest.RequireNear(t, 0.04, d.MemoryController, "controller")
			},
		},
		{
			"power as it is now", `"Current Socket Graphics Package Power (W)": "133.0"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				smitest.RequireNear(t, 133, d.Power.Draw, "draw")
				smitest.RequireNear(t, 133, d.Power.Instant, "instant")
			},
		},
		{
			"second die of MI250", `"Average Graphics Package Power (W)": "N/A (Secondary die)", "Max Graphics Package Power (W)": "0.0",
			"Current Socket Graphics Package Power (W)": "0.0", "Accumulated Energy (uJ)": "0.0"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				assert.False(t, d.Power.Draw.Known(), "the first die's is that of both")
				assert.False(t, d.Power.Instant.Known())
				assert.False(t, d.Power.Limit[gpu.LimitEnforced].Known(), "0 is no cap")
			},
		},
		{
			"nothing in every way", `"GPU use (%)": "N/A", "GPU memory use (%)": "None", "Temperature (Sensor edge) (C)": "N/A",
			"Serial Number": "0", "VRAM Total Memory (B)": "None", "Energy counter": "N/A", "Accumulated Energy (uJ)": "2.8223e+20",
			"Fan speed (%)": "Unable to detect fan speed for GPU 0", "PCIe Replay Count": "Not supported on the given system",
			"Temperature (Sensor junction) (C)": "65535.0", "sclk clock speed:": "(65535Mhz)", "pcie clock level": "UNKNOWN"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				blank := gpu.Device{ID: d.ID, Name: d.Name, Vendor: d.Vendor, Index: d.Index, CurrentIndex: d.CurrentIndex, Info: d.Info, ProcessesUnread: true}
				assert.Equal(t, blank, *d)
				assert.Empty(t, d.Info.Serial)
			},
		},
		{
			"HBM stacks without a sensor of the memory", `"Temperature (Sensor HBM 0) (C)": "50.0", "Temperature (Sensor HBM 1) (C)": "53.0",
			"Temperature (Sensor HBM 2) (C)": "N/A"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				smitest.RequireNear(t, 53, d.Temperature[gpu.SensorMemory], "memory")
			},
		},
		{
			"names", `"Card series": "0x1002", "Device Name": "AMD Instinct MI300X OAM", "GFX Version": "gfx942", "VBIOS version": "113-M3000100-103"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				assert.Equal(t, "AMD Instinct MI300X OAM", d.Model)
				assert.Equal(t, "gfx942", d.Info.ComputeCapability)
				assert.Equal(t, "113-M3000100-103", d.Info.FirmwareVersion)
			},
		},
		{
			"numbers instead of texts", `"GPU use (%)": 12, "VRAM Total Memory (B)": 1024, "Temperature (Sensor edge) (C)": null, "x": [1], "y": {"z": 1}`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				smitest.RequireNear(t, 0.12, d.Utilization[gpu.TaskGeneral], "utilization")
				smitest.RequireValue(t, int64(1024), d.Memory.Limit, "limit")
				assert.False(t, d.Temperature[gpu.SensorEdge].Known())
			},
		},
		{
			"deep sleep", `"sclk clock level": "S (137Mhz)", "pcie clock level": "2 (32.0GT/s x16)"`,
			func(t *testing.T, d *gpu.Device) {
				t.Helper()
				smitest.RequireNear(t, 137e6, d.Clocks[gpu.ClockGraphics].Speed, "sclk")
				smitest.RequireValue(t, int64(5), d.PCIe.Generation, "generation")
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := `{"card3": {` + tt.card + `}}`
			if !strings.Contains(tt.card, "PCI Bus") {
				text = `{"card3": {"PCI Bus": "0000:C1:00.0", ` + tt.card + `}}`
			}
			node := smitest.Read(t, newTestSource(smitest.ROCmTool(text, "")))
			require.Len(t, node.Devices, 1)
			d := &node.Devices[0]
			assert.Equal(t, "gpu3", d.Name)
			if d.ID == "" {
				assert.Equal(t, "0000:c1:00.0", d.Info.PCIAddress)
			}
			tt.check(t, d)
		})
	}
}
