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

// NVLink 5 has other counters of errors, and, where the older counters of bytes are missing, others of bytes, without totals.
func TestNVLink5(t *testing.T) {
	for name, tt := range map[string]struct {
		fault       string
		transmitted int64
	}{
		"older counters of bytes": {"", 3 << 10},
		"none":                    {"[fault f]\ngpu = 0\nfield = 138, 139\nreturn = NOT_SUPPORTED", 3 * 1500},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = b200\nlinks = 3\nnvlink.tx.bytes = 1500\nnvlink.rx.bytes = 3000\n"+
				"nvlink.recovered = 4\nnvlink.unrecovered = 1\n"+tt.fault)
			for range 2 {
				d := gpuAt(t, b.read(), 0)
				sent, _ := d.Interconnect.Transmitted.Get()
				assert.InDelta(t, tt.transmitted, sent, 1<<10)
				assert.Equal(t, map[gpu.ErrorType]int64{gpu.ErrorLinkRecovery: 15}, onlyLinks(errorCounts(t, d.Errors, false)))
				require.Len(t, d.Interconnect.Links, 3)
				assert.Equal(t, "2", d.Interconnect.Links[2].Name)
				sent, _ = d.Interconnect.Links[2].Transmitted.Get()
				assert.InDelta(t, tt.transmitted/3, sent, 1<<10)
			}
		})
	}
}

func onlyLinks(counts map[gpu.ErrorType]int64) map[gpu.ErrorType]int64 {
	for _, t := range []gpu.ErrorType{gpu.ErrorCorrected, gpu.ErrorUncorrected, gpu.ErrorPCIeReplay} {
		delete(counts, t)
	}
	return counts
}

// Single links cost nothing and are absent where they are not wanted.
func TestNVLinkTotalsAlone(t *testing.T) {
	for _, board := range []string{"h100", "b200"} {
		t.Run(board, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+board, gpu.GroupAll&^gpu.GroupInterconnectLinks)
			d := gpuAt(t, b.read(), 0)
			assert.Empty(t, d.Interconnect.Links)
			assert.True(t, d.Interconnect.Transmitted.Known())
		})
	}
}
