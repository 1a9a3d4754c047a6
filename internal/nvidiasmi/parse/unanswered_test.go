// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A GPU for which the tool prints an error in the place of every reading is unreachable. One reading is enough to contradict it.
func TestEveryReadingFails(t *testing.T) {
	fields := []string{"index", "uuid", "serial", "temperature.gpu", "utilization.gpu", "power.draw", "memory.used", "enforced.power.limit", "pstate"}
	for _, word := range []string{"[Unknown Error]", "Unknown Error", "ERR!", "[Timeout]", "[Insufficient Resources]"} {
		for name, tt := range map[string]struct {
			cells       map[string]string
			unreachable bool
		}{
			"all":                       {nil, true},
			"but some are unsupported":  {map[string]string{"utilization.gpu": "[N/A]", "pstate": "[N/A]"}, true},
			"but identity":              {map[string]string{"serial": "1652"}, true},
			"but no used memory":        {map[string]string{"memory.used": "0 MiB"}, true},
			"but an invented limit":     {map[string]string{"enforced.power.limit": "310.50 W"}, true},
			"but the temperature":       {map[string]string{"temperature.gpu": "0"}, false},
			"but the used memory":       {map[string]string{"memory.used": "1 MiB"}, false},
			"one, the rest unsupported": {map[string]string{"utilization.gpu": "[N/A]", "power.draw": "[N/A]", "memory.used": "[N/A]", "enforced.power.limit": "[N/A]", "pstate": "[N/A]"}, false},
			"an impossible limit":       {map[string]string{"enforced.power.limit": "3713937.75 W"}, true},
			"one is not understood":     {map[string]string{"power.draw": "12 parsecs"}, false},
			"one lacks a right":         {map[string]string{"power.draw": "[Insufficient Permissions]"}, false},
			"one is blocked":            {map[string]string{"power.draw": "[GPU access blocked by the operating system]"}, false},
		} {
			t.Run(word+" "+name, func(t *testing.T) {
				row := make([]string, len(fields))
				for i, f := range fields {
					row[i] = word
					if f == "index" || f == "uuid" {
						row[i] = map[string]string{"index": "0", "uuid": "GPU-a"}[f]
					}
					if cell, ok := tt.cells[f]; ok {
						row[i] = cell
					}
				}
				listing, exists := QueryGPU([]byte(strings.Join(fields, ", ")+"\n"+strings.Join(row, ", ")+"\n"), fields)
				require.True(t, exists)
				require.Len(t, listing.GPUs, 1)
				g := &listing.GPUs[0]
				assert.Equal(t, tt.unreachable, g.Unreadable)
				assert.Equal(t, "GPU-a", g.Device.ID)
				if !tt.unreachable {
					assert.Empty(t, g.Device.Faults)
					return
				}
				require.Len(t, g.Device.Faults, 1)
				assert.Equal(t, gpu.FaultUnreachable, g.Device.Faults[0].Type)
				assert.Equal(t, "none of its values can be read: "+strings.Trim(word, "[]"), g.Device.Faults[0].Message)
				assert.Empty(t, g.Device.Power.Limit)
			})
		}
	}
}

// The same in XML, as nvidia-smi 535 prints it: what a GPU never has is N/A, and elements without a value have the error as their text.
func TestEveryReadingFailsInXML(t *testing.T) {
	data := strings.Replace(string(testdata(t, "xml/v13-580.xml")), "<channel_repair_pending>Yes", "<channel_repair_pending>No", 1)
	index := strings.LastIndex(data, "<gpu id=")
	for _, path := range []string{"product_name", "uuid", "pci_bus_id", "minor_number"} {
		data = data[:index] + strings.Replace(data[index:], "<"+path+">", "<"+path+"><!-- kept -->", 1)
	}
	leaf := regexp.MustCompile(`>[^<>\n]+</`)
	broken := data[:index] + leaf.ReplaceAllStringFunc(data[index:], func(s string) string {
		if strings.Contains(s, "N/A") {
			return s
		}
		return ">Unknown Error</"
	})
	for _, path := range []string{"product_name", "uuid", "pci_bus_id", "minor_number"} {
		value := regexp.MustCompile(fmt.Sprintf("<%s><!-- kept -->([^<]+)<", path)).FindStringSubmatch(data[index:])[1]
		broken = strings.Replace(broken, fmt.Sprintf("<%s><!-- kept -->Unknown Error<", path), fmt.Sprintf("<%s>%s<", path, value), 1)
	}
	listing, err := XML([]byte(broken))
	require.NoError(t, err)
	require.Len(t, listing.GPUs, 2)
	assert.False(t, listing.GPUs[0].Unreadable)
	g := &listing.GPUs[1]
	assert.True(t, g.Unreadable)
	require.Len(t, g.Device.Faults, 1)
	assert.Equal(t, gpu.FaultUnreachable, g.Device.Faults[0].Type)
	assert.NotEmpty(t, g.Device.ID)
	assert.NotEmpty(t, g.Device.Model)
	assert.True(t, g.Minor.Known())
}

// The memory of a MIG device is a reading of its GPU.
func TestMIGDeviceAnswers(t *testing.T) {
	const refused = "<temperature><gpu_temp>Unknown Error</gpu_temp></temperature><fan_speed>Unknown Error</fan_speed>"
	device := func(memory string) string {
		return "<mig_devices><mig_device><index>0</index><fb_memory_usage><total>" + memory + "</total></fb_memory_usage></mig_device></mig_devices>"
	}
	assert.Empty(t, oneGPU(t, refused+device("9856 MiB")).Device.Faults)
	g := oneGPU(t, refused+device("Unknown Error"))
	require.Len(t, g.Device.Faults, 1)
	assert.Equal(t, gpu.FaultUnreachable, g.Device.Faults[0].Type)
}
