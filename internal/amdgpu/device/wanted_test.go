// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestWanted: the files of a quantity are read if it is wanted, and not otherwise.
func TestWanted(t *testing.T) {
	for file, tt := range map[string]struct {
		machine func() *amdgpusim.Machine
		groups  gpu.Group
		has     func(*gpu.Device) bool
	}{
		"in0_input":          {amdgpusim.Radeon, gpu.GroupVoltage, func(d *gpu.Device) bool { return len(d.Voltage) > 0 }},
		"fan1_input":         {amdgpusim.Radeon, gpu.GroupFanSpeed, func(d *gpu.Device) bool { return len(d.Fans) > 0 && d.Fans[0].Speed.Known() }},
		"power1_cap_default": {amdgpusim.Radeon, gpu.GroupPowerLimit, func(d *gpu.Device) bool { return d.Power.Limit[gpu.LimitDefault].Known() }},
		"vcn_busy_percent":   {amdgpusim.APU, gpu.GroupMediaUtilization, func(d *gpu.Device) bool { return d.Utilization[gpu.TaskMedia].Known() }},
		"gpu_vram_bad_pages": {amdgpusim.MI300XCPX, gpu.GroupRemappedRows, func(d *gpu.Device) bool { return d.RetiredPages.BadLimit.Known() }},
		// One file that several groups need.
		"gpu_metrics": {amdgpusim.MI300XCPX, tableGroups | kindGroups, func(d *gpu.Device) bool { return len(d.XCCUtilization) > 0 }},
	} {
		t.Run(file, func(t *testing.T) {
			for want, expected := range map[gpu.Group]bool{gpu.GroupAll: true, tt.groups: true, gpu.GroupAll &^ tt.groups: false, 0: false} {
				_, g, input := first(t, tt.machine())
				g.cfg.Want = want
				var files []string
				input.ReadFile = func(path string) ([]byte, error) {
					files = append(files, path)
					return sysfs.Read(path)
				}
				d := g.Read(input).Device
				assert.Equal(t, expected, tt.has(&d), "%x", want)
				assert.Equal(t, expected, slices.ContainsFunc(files, func(path string) bool { return strings.HasSuffix(path, "/"+file) }), "%x", want)
			}
		})
	}
}

// TestOneGroupOfTheTable: only the wanted values of the table are reported.
func TestOneGroupOfTheTable(t *testing.T) {
	has := map[gpu.Group]func(*gpu.Device) bool{
		gpu.GroupXCCUtilization:    func(d *gpu.Device) bool { return len(d.XCCUtilization) > 0 },
		gpu.GroupTemperatureDetail: func(d *gpu.Device) bool { return len(d.TemperatureDetail) > 0 },
		gpu.GroupPCIeDetail:        func(d *gpu.Device) bool { return d.PCIe.Recoveries.Known() },
		gpu.GroupMediaUtilization:  func(d *gpu.Device) bool { return d.Utilization[gpu.TaskMedia].Known() },
		gpu.GroupInterconnectState: func(d *gpu.Device) bool { return len(d.Interconnect.Links) > 0 && d.Interconnect.Links[0].Up.Known() },
		gpu.GroupInterconnectSpeed: func(d *gpu.Device) bool {
			return len(d.Interconnect.Links) > 0 && d.Interconnect.Links[0].Width.Known()
		},
	}
	for want := range has {
		m := amdgpusim.MI300XCPX()
		m.Cards[0].Metrics.(*amdgpusim.MetricsV1x8).XGMIStatus[0] = 1
		_, g, input := first(t, m)
		g.cfg.Want = want
		d := g.Read(input).Device
		for group, check := range has {
			assert.Equal(t, group == want, check(&d), "%x of %x", group, want)
		}
	}
}
