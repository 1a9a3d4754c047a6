// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestMemoryBanks(t *testing.T) {
	for name, tt := range map[string]struct {
		board string
		want  [gpu.NumSpares]gpu.Opt[int64]
	}{
		"h100": {
			"h100\nremapped.banks.max = 2550\nremapped.banks.high = 4\nremapped.banks.partial = 3\nremapped.banks.low = 2\nremapped.banks.none = 1",
			[gpu.NumSpares]gpu.Opt[int64]{
				gpu.SparesMax: gpu.Some[int64](2550), gpu.SparesHigh: gpu.Some[int64](4), gpu.SparesPartial: gpu.Some[int64](3),
				gpu.SparesLow: gpu.Some[int64](2), gpu.SparesNone: gpu.Some[int64](1),
			},
		},
		"turing":   {"turing", [gpu.NumSpares]gpu.Opt[int64]{}},
		"geforce":  {"geforce", [gpu.NumSpares]gpu.Opt[int64]{}},
		"no banks": {"h100\nremapped.banks.max = 0", [gpu.NumSpares]gpu.Opt[int64]{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+tt.board)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				assert.Equal(t, tt.want, gpuAt(t, n, 0).MemoryBanks)
			}
		})
	}
}

// What Blackwell repairs at a reset, or cannot repair, predicts a failure.
func TestRepairs(t *testing.T) {
	for scenario, want := range map[string]gpu.FaultType{
		"": gpu.NumFaultTypes, "repair.channel = 1": gpu.FaultRemapPending, "repair.tpc = 1": gpu.FaultRemapPending,
		"unrepairable_memory = 1": gpu.FaultRemapFailed,
		"repair.channel = raw(0xFFFFFFFF)\nrepair.tpc = raw(0xFFFFFFFF)\nunrepairable_memory = raw(0xFFFFFFFF)": gpu.NumFaultTypes,
	} {
		t.Run(scenario, func(t *testing.T) {
			n := start(t, "gpus = 1\n[gpu 0]\nboard = b200\n"+scenario).read()
			assert.Empty(t, n.Problems)
			faults := gpuAt(t, n, 0).Faults
			if want == gpu.NumFaultTypes {
				assert.Empty(t, faults)
				return
			}
			require.Len(t, faults, 1)
			assert.Equal(t, want, faults[0].Type)
			assert.Equal(t, gpu.StatePredictedFailure, want.State())
		})
	}
}
