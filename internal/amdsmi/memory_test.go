// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestUnifiedMemory: of an MI300A, which has no memory of its own, the tools print KFD's size, and as used and as visible 0 (rocm-smi
// 6.1.2 and amd-smi 24.5.2 on the simulated driver's files).
func TestUnifiedMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		total, used, visible, visibleUsed string
		want                              gpu.Memory
	}{
		"unified": {"103079215104", "0", "0", "0", gpu.Memory{Limit: gpu.Some[int64](96 << 30)}},
		"unified, a later tool": {"103079215104", "3221225472", "0", "0", gpu.Memory{
			Limit: gpu.Some[int64](96 << 30), Usage: gpu.Some[int64](3 << 30),
		}},
		"unified, KFD is not asked": {"0", "0", "0", "0", gpu.Memory{}},
		"idle": {"103079215104", "0", "268435456", "0", gpu.Memory{
			Limit: gpu.Some[int64](96 << 30), Usage: gpu.Some[int64](0),
			VisibleLimit: gpu.Some[int64](256 << 20), VisibleUsage: gpu.Some[int64](0),
		}},
		"nothing visible is told of": {"103079215104", "0", "N/A", "N/A", gpu.Memory{
			Limit: gpu.Some[int64](96 << 30), Usage: gpu.Some[int64](0),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var rocm gpu.Device
			card := rocmCard{values: map[string]string{
				"vram total memory (b)": tt.total, "vram total used memory (b)": tt.used,
				"vis_vram total memory (b)": tt.visible, "vis_vram total used memory (b)": tt.visibleUsed,
			}}
			card.readings(&rocm)
			assert.Equal(t, tt.want, rocm.Memory)

			var amd gpu.Device
			value := func(text string) any {
				if text == "N/A" {
					return text
				}
				return map[string]any{"value": json.Number(text), "unit": "B"}
			}
			amdMemory(record{"mem_usage": map[string]any{
				"total_vram": value(tt.total), "used_vram": value(tt.used),
				"total_visible_vram": value(tt.visible), "used_visible_vram": value(tt.visibleUsed),
			}}, &amd)
			assert.Equal(t, tt.want, amd.Memory)
		})
	}
}
