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

// NVLink 5 has other counters of errors, and, if the older counters of bytes are missing, other counters of bytes, without totals.
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
				tx, _ := d.Interconnect.Transmitted.Get()
				assert.InDelta(t, tt.transmitted, tx, 1<<10)
				total[int64](t, 15, d.Interconnect.Errors[gpu.LinkErrorRecovery], "recoveries")
				total[int64](t, 3, d.Interconnect.Errors[gpu.LinkErrorRecoveryFailed], "failed recoveries")
				assert.False(t, d.Interconnect.Errors[gpu.LinkErrorCRC].Known(), "an error of older links")
				require.Len(t, d.Interconnect.Links, 3)
				assert.Equal(t, "2", d.Interconnect.Links[2].Name)
				tx, _ = d.Interconnect.Links[2].Transmitted.Get()
				assert.InDelta(t, tt.transmitted/3, tx, 1<<10)
			}
		})
	}
}

// Single links cost nothing and are absent if they are not wanted.
func TestNVLinkTotalsAlone(t *testing.T) {
	for _, board := range []string{"h100", "b200"} {
		t.Run(board, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+board, gpu.GroupInterconnect|gpu.GroupInterconnectErrors)
			d := gpuAt(t, b.read(), 0)
			assert.Empty(t, d.Interconnect.Links)
			assert.True(t, d.Interconnect.Transmitted.Known())
		})
	}
}

// A total that stays at 0 while the links count is their sum, with single links and without.
func TestNVLinkTotalOfZero(t *testing.T) {
	const links = "gpus = 1\n[gpu 0]\nboard = h100\nlinks = 3\nfield.138 = 0\nfield.139 = 0\n"
	for name, want := range map[string]gpu.Group{
		"with links": gpu.GroupAll, "without": gpu.GroupAll &^ gpu.GroupInterconnectLinks,
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, links+"field.138.0 = 5\nfield.138.1 = 5\nfield.138.2 = 5\nfield.139.2 = 21\n", want)
			for range 2 {
				d := gpuAt(t, b.read(), 0)
				transmitted, _ := d.Interconnect.Transmitted.Get()
				received, _ := d.Interconnect.Received.Get()
				assert.Equal(t, [2]int64{3 * 5 << 10, 3 * 7 << 10}, [2]int64{transmitted, received})
			}
			b.set("[gpu 0]\nfield.138.1 = error(UNKNOWN)")
			assert.False(t, gpuAt(t, b.read(), 0).Interconnect.Transmitted.Known(), "no total comes back in the sum's place")
		})
	}
	t.Run("nothing is sent", func(t *testing.T) {
		b := start(t, links, gpu.GroupAll&^gpu.GroupInterconnectLinks)
		for range 2 {
			transmitted, ok := gpuAt(t, b.read(), 0).Interconnect.Transmitted.Get()
			assert.True(t, ok)
			assert.Zero(t, transmitted)
		}
	})
}

// The same is true of errors, if the links are read.
func TestNVLinkErrorsOfZero(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nboard = h100\nlinks = 3\nfield.38 = 0\nfield.45 = 0\nfield.163 = 2\n")
	for range 2 {
		d := gpuAt(t, b.read(), 0)
		total[int64](t, 6, d.Interconnect.Errors[gpu.LinkErrorCRC], "CRC errors")
	}
}
