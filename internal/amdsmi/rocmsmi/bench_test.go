// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The cost of reading the output. Running the tool costs a hundred times as much.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("cards=%d", n), func(b *testing.B) {
			var one map[string]map[string]string
			require.NoError(b, json.Unmarshal([]byte(smitest.Fixture(b, "rocm-smi-6.1.2.json")), &one))
			all := map[string]map[string]string{"system": one["system"]}
			for i := range n {
				card := maps.Clone(one["card0"])
				card["Unique ID"] = fmt.Sprintf("0x5d1f00aa77c3e%03x", i)
				card["PCI Bus"] = fmt.Sprintf("0000:%02X:00.0", i+1)
				all[fmt.Sprintf("card%d", i)] = card
			}
			text, err := json.Marshal(all)
			require.NoError(b, err)
			smitest.RunBenchmark(b, New(nil, smitest.StaticTool(map[string]string{
				"--json": string(text), "--showrasinfo": smitest.Fixture(b, "rocm-smi-6.1.2.txt"),
			}), gpu.GroupAll), n)
		})
	}
}
