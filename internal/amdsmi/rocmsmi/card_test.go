// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestUnifiedMemory(t *testing.T) {
	for name, tt := range smitest.UnifiedMemory() {
		t.Run(name, func(t *testing.T) {
			var d gpu.Device
			card := card{values: map[string]string{
				"vram total memory (b)": tt.Total, "vram total used memory (b)": tt.Used,
				"vis_vram total memory (b)": tt.Visible, "vis_vram total used memory (b)": tt.VisibleUsed,
			}}
			card.readings(&d)
			assert.Equal(t, tt.Want, d.Memory)
		})
	}
}

func TestMilliwatts(t *testing.T) {
	for watts, want := range smitest.Milliwatts() {
		var d gpu.Device
		card := card{values: map[string]string{"current socket graphics package power (w)": watts}}
		card.readings(&d)
		assert.Equal(t, want, d.Power.Draw, watts)
	}
}

// TestNumbersWithoutValue: what the tool prints if the driver has no value is absent.
func TestNumbersWithoutValue(t *testing.T) {
	t.Parallel()
	for key, values := range map[string][]string{
		"temperature (sensor memory) (c)":   {"0.0", "255.0", "-1.0", "-1", "511.0"},
		"temperature (sensor hbm 0) (c)":    {"0.0", "255.0"},
		"temperature (sensor edge) (c)":     {"-1.0", "255"},
		"temperature (sensor junction) (c)": {"-1", "65535"},
		"vram total memory (b)":             {"0", "18446744073709551615"},
		"pcie clock level":                  {"1 (16.0GT/s x65535)"},
		"fan speed (%)":                     {"-1"},
		"fan rpm":                           {"-1", "65535"},
		"voltage (mv)":                      {"0", "65535", "N/A"},
		"temperature (sensor hbm 3) (c)":    {"0.0", "65535"},
	} {
		for _, value := range values {
			var d gpu.Device
			card := card{values: map[string]string{key: value}}
			card.readings(&d)
			d.PCIe.Generation = gpu.Opt[int64]{} // which is correct
			assert.Equal(t, gpu.Device{}, d, "%s: %s", key, value)
		}
	}
}

// TestErrorsInsteadOfReadings: a card is failed if rocm-smi prints errors and not one reading. An unsupported quantity is not an error.
func TestErrorsInsteadOfReadings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		values  map[string]string
		message string
	}{
		"errors":        {map[string]string{"gpu use (%)": "Error: -5", "fan speed (%)": "N/A"}, "gpu use (%): Error: -5"},
		"one reading":   {map[string]string{"gpu use (%)": "ERR!", "fan speed (%)": "7"}, ""},
		"nothing":       {map[string]string{"gpu use (%)": "N/A", "fan speed (%)": "Not supported on the given system"}, ""},
		"identity only": {map[string]string{}, ""},
	} {
		c := card{values: tt.values}
		c.values["unique id"] = "0x2150e7d042a1124"
		d := c.listed("6.8").Device
		if tt.message == "" {
			assert.Empty(t, d.Faults, name)
			continue
		}
		assert.Equal(t, []gpu.Fault{{Type: gpu.FaultUnreachable, Message: "rocm-smi prints an error instead of values: " + tt.message}}, d.Faults)
	}
}

func TestReplaysOfOnes(t *testing.T) {
	for text, want := range smitest.ReplaysOfOnes() {
		var d gpu.Device
		card := card{values: map[string]string{"pcie replay count": text}}
		card.readings(&d)
		assert.Equal(t, want, d.PCIe.Replays.Known(), text)
	}
}

func TestMemoryPartition(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]string{"NPS1": "NPS1", "nps4": "NPS4", "N/A": "", "Not supported on the given system": "", "": ""} {
		card := card{values: map[string]string{"memory partition": printed}}
		listed := card.listed("")
		assert.Equal(t, want, listed.Device.Info.MemoryPartition, printed)
	}
}

// Details for specialists are there only if they are wanted.
func TestDetailsIfConfigured(t *testing.T) {
	t.Parallel()
	for want, known := range map[gpu.Group]bool{gpu.GroupTemperature: false, gpu.GroupTemperature | gpu.GroupTemperatureDetail: true} {
		tool := smitest.ROCmTool(smitest.Fixture(t, "rocm-smi-6.1.2.json"), smitest.Fixture(t, "rocm-smi-6.1.2.txt"))
		d := &smitest.Read(t, New(&Config{}, tool, want)).Devices[0]
		assert.Equal(t, known, len(d.TemperatureDetail) == 4)
		smitest.RequireNear(t, 58, d.Temperature[gpu.SensorMemory], "memory")
	}
}

func TestModel(t *testing.T) {
	const list = "Navi 22 [Radeon RX 6700/6700 XT / 6800M]"
	for _, tt := range []struct{ series, device, model, want string }{
		{"AMD Instinct MI210", "", "0x0c34", "AMD Instinct MI210"},
		{"AMD Instinct MI210", "", "Instinct", "AMD Instinct MI210"},
		{list, "", "Radeon RX 6700 XT", "Radeon RX 6700 XT"},
		{list, "", "0x6601", list},
		{list, "Radeon RX 6800M", "Radeon RX 6700 XT", "Radeon RX 6800M"},
		{"0x1002", "AMD Instinct MI300X OAM", "0x74a1", "AMD Instinct MI300X OAM"},
	} {
		c := card{values: map[string]string{"card series": tt.series, "device name": tt.device, "card model": tt.model, "vbios version": "xxx-xxx-xxx"}}
		d := c.listed("").Device
		assert.Equal(t, tt.want, d.Model)
		assert.Empty(t, d.Info.FirmwareVersion)
	}
}
