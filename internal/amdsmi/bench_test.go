// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("gpus=%d", n), func(b *testing.B) {
			texts := map[string]string{}
			for name, args := range map[string]string{
				"version": "version", "list": "list", "static": "static", "metric": "metric -u", "process": "process", "pcie": "metric -P",
			} {
				records, err := parseRecords([]byte(smitest.Fixture(b, "amd-smi-7.0-dpx/"+name+".json")))
				require.NoError(b, err)
				all := make([]record, 0, n)
				for i := range n {
					r := maps.Clone(records[0])
					r["gpu"] = i
					if name == "list" {
						r["bdf"], r["hip_uuid"] = fmt.Sprintf("0000:%02x:00.0", i+1), fmt.Sprintf("GPU-8f1457e2c20f5%03x", i)
					}
					all = append(all, r)
				}
				text, err := json.MarshalIndent(all, "", "    ")
				require.NoError(b, err)
				texts[args] = string(text)
			}
			texts["xgmi"] = smitest.Fixture(b, "amd-smi-7.0-dpx/xgmi.json")
			smitest.RunBenchmark(b, New(nil, smitest.StaticTool(texts), gpu.GroupAll), n)
		})
	}
}
