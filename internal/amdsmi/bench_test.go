// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The cost of reading what the tools print; running them costs a hundred times as much.
func BenchmarkROCm(b *testing.B) {
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("cards=%d", n), func(b *testing.B) {
			var one map[string]map[string]string
			require.NoError(b, json.Unmarshal([]byte(fixture(b, "rocm-smi-6.1.2.json")), &one))
			all := map[string]map[string]string{"system": one["system"]}
			for i := range n {
				card := maps.Clone(one["card0"])
				card["Unique ID"] = fmt.Sprintf("0x5d1f00aa77c3e%03x", i)
				card["PCI Bus"] = fmt.Sprintf("0000:%02X:00.0", i+1)
				all[fmt.Sprintf("card%d", i)] = card
			}
			text, err := json.Marshal(all)
			require.NoError(b, err)
			runBenchmark(b, NewROCm(nil, static(map[string]string{
				"--json": string(text), "--showrasinfo": fixture(b, "rocm-smi-6.1.2.txt"),
			}), gpu.GroupAll), n)
		})
	}
}

func BenchmarkAMD(b *testing.B) {
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("gpus=%d", n), func(b *testing.B) {
			texts := map[string]string{}
			for name, args := range map[string]string{
				"version": "version", "list": "list", "static": "static", "metric": "metric -u", "process": "process", "pcie": "metric -P",
			} {
				records, err := parseAMD([]byte(fixture(b, "amd-smi-7.0-dpx/"+name+".json")))
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
			texts["xgmi"] = fixture(b, "amd-smi-7.0-dpx/xgmi.json")
			runBenchmark(b, NewAMD(nil, static(texts), gpu.GroupAll), n)
		})
	}
}

func runBenchmark(b *testing.B, s gpu.Source, devices int) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		node, err := s.Read(b.Context())
		require.NoError(b, err)
		require.Len(b, node.Devices, devices)
	}
}

// static answers by the beginning of the arguments.
func static(texts map[string]string) *fakeTool {
	return &fakeTool{answer: func(args string) (command.Result, error) {
		for prefix, text := range texts {
			if strings.HasPrefix(args, prefix) {
				return prints(text)
			}
		}
		return prints("[]")
	}}
}
