// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ReplaysOfOnes returns printed replays, and whether they are a count. The driver adds two registers of 32 bits, which have all bits set if
// the GPU is off the bus.
func ReplaysOfOnes() map[string]bool {
	return map[string]bool{"8589934590": false, "4294967295": false, "7": true, "0": true}
}

// Milliwatts returns printed draws and what they mean: some firmware reports watts although the driver expects milliwatts.
func Milliwatts() map[string]gpu.Opt[float64] {
	return map[string]gpu.Opt[float64]{"0.012": {}, "0.23": {}, "1.2": gpu.Some(1.2)}
}

// printedMemory is what a tool prints about a GPU's memory, and the memory.
type printedMemory struct {
	Total, Used, Visible, VisibleUsed string
	Want                              gpu.Memory
}

// UnifiedMemory returns cases of an MI300A, which has no memory of its own. The tools print the size that KFD reports, and 0 for what is
// used and visible (rocm-smi 6.1.2 and amd-smi 24.5.2 on the simulated driver's files).
func UnifiedMemory() map[string]printedMemory {
	return map[string]printedMemory{
		"unified": {"103079215104", "0", "0", "0", gpu.Memory{Limit: gpu.Some[int64](96 << 30)}},
		"unified, a later tool": {"103079215104", "3221225472", "0", "0", gpu.Memory{
			Limit: gpu.Some[int64](96 << 30), Usage: gpu.Some[int64](3 << 30),
		}},
		"unified, KFD is not asked": {"0", "0", "0", "0", gpu.Memory{}},
		"idle": {"103079215104", "0", "268435456", "0", gpu.Memory{
			Limit: gpu.Some[int64](96 << 30), Usage: gpu.Some[int64](0),
			VisibleLimit: gpu.Some[int64](256 << 20), VisibleUsage: gpu.Some[int64](0),
		}},
		"visible memory is not printed": {"103079215104", "0", "N/A", "N/A", gpu.Memory{
			Limit: gpu.Some[int64](96 << 30), Usage: gpu.Some[int64](0),
		}},
	}
}

// TooManyValues returns documents that need much more memory than they have bytes: 16 MiB of {}, take half a gigabyte, in a collector that
// reads a thousand nodes with less.
func TooManyValues() []string {
	return []string{
		`{"gpu_data":[{"gpu":0,"process_list":[0` + strings.Repeat(",0", (1<<19)) + "]}]}",
		`{"card0":{"a":""` + strings.Repeat(`,"b":""`, (1<<19)) + "}}",
	}
}

// EnergyWraps checks that the total of a GPU does not fall if its counter wraps. show sets the counter, in joules. The power limit must be
// 300 W.
func EnergyWraps(t *testing.T, s gpu.Source, show func(joules float64)) {
	t.Helper()
	last := 0.0
	for i := range 50 { // at 299 W, every 30 s
		show(math.Mod(65000.1+float64(i)*299*30, 65536.905))
		d := Read(t, s).Devices[0]
		total, ok := d.Energy.Get()
		require.True(t, ok)
		require.InDelta(t, 65000.1+float64(i)*299*30, total, 0.05*float64(i+1), "read %d", i)
		require.Greater(t, total, last)
		require.Zero(t, d.Energy.Since())
		last = total
	}
}
