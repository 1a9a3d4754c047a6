// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestVideoActivity: the driver's own file is preferred to the table, and the zeros of an MI200 are not values.
func TestVideoActivity(t *testing.T) {
	shares := gpumetrics.Table{}
	shares.Activity[0].Video, shares.Activity[2].Video = gpu.Some(0.2), gpu.Some(0.4)
	for name, tt := range map[string]struct {
		file   string
		table  gpumetrics.Table
		device uint64
		want   gpu.Opt[float64]
	}{
		"file":                   {"37\n", gpumetrics.Table{Video: gpu.Some(0.5)}, 0x744c, gpu.Some(0.37)},
		"table":                  {"", gpumetrics.Table{Video: gpu.Some(0.5)}, 0x744c, gpu.Some(0.5)},
		"idle":                   {"", gpumetrics.Table{Video: gpu.Some(0.0)}, 0x744c, gpu.Some(0.0)},
		"MI210":                  {"", gpumetrics.Table{Video: gpu.Some(0.0)}, 0x740f, gpu.Opt[float64]{}},
		"the partitions' mean":   {"", shares, 0x74a1, gpu.Some(0.3)},
		"more than all of it":    {"101\n", gpumetrics.Table{}, 0x744c, gpu.Opt[float64]{}},
		"neither file nor table": {"", gpumetrics.Table{}, 0x744c, gpu.Opt[float64]{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reader{readFile: func(path string) ([]byte, error) {
				if tt.file != "" && strings.HasSuffix(path, "/vcn_busy_percent") {
					return []byte(tt.file), nil
				}
				return nil, syscall.ENOENT
			}, dir: "card"}
			var d gpu.Device
			readUtilization(r, gpu.GroupMediaUtilization, &tt.table, gpu.Some(tt.device), &d)
			got, ok := d.Utilization[gpu.TaskMedia].Get()
			want, expected := tt.want.Get()
			assert.Equal(t, expected, ok)
			assert.InDelta(t, want, got, 1e-9)
			assert.Empty(t, d.XCCUtilization, "not wanted")
		})
	}
}

func TestArchitecture(t *testing.T) {
	for target, want := range map[string]string{
		"gfx906": "gcn5", "gfx908": "cdna", "gfx90a": "cdna2", "gfx942": "cdna3", "gfx950": "cdna4", "gfx90c": "gcn5", "gfx1010": "rdna",
		"gfx1030": "rdna2", "gfx1100": "rdna3", "gfx1103": "rdna3", "gfx1151": "rdna3.5", "gfx1201": "rdna4", "gfx803": "", "": "",
	} {
		assert.Equal(t, want, gpu.AMDArchitecture(target), target)
	}
}
