// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Whether links are up is read of drivers that have a field for it, and of those that have only a function.
func TestNVLinkState(t *testing.T) {
	for name, fault := range map[string]string{
		"field": "", "function": "[fault f]\nfield = 165\nreturn = INVALID_ARGUMENT\n",
		"no fields": "[fault f]\nfield = 165, 166, 164\nreturn = NOT_SUPPORTED\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = h100\nlinks = 3\nlinks.down = 1\n"+fault, gpu.GroupInterconnectState)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				d := gpuAt(t, n, 0)
				require.Len(t, d.Interconnect.Links, 3)
				for i, want := range []bool{true, false, true} {
					assert.Equal(t, gpu.Link{Name: strconv.Itoa(i), Up: gpu.Some(want)}, d.Interconnect.Links[i])
				}
				assert.Equal(t, name != "no fields", d.Info.InterconnectVersion == "4.0", "drivers have the field since 515")
			}
		})
	}
}

func TestNVLinkVersion(t *testing.T) {
	for board, want := range map[string]string{"a100": "3.0", "h100": "4.0", "b200": "5.0", "turing": "", "h100\nfield.166 = 99": ""} {
		t.Run(board, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+board)
			for range 2 {
				assert.Equal(t, want, gpuAt(t, b.read(), 0).Info.InterconnectVersion)
			}
		})
	}
}

// A link that is down has no speed.
func TestNVLinkSpeed(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nboard = b200\nlinks = 2\nlinks.down = 1\n", gpu.GroupInterconnectSpeed)
	assert.Equal(t, []gpu.Link{{Name: "0", Bandwidth: gpu.Some(53.125e9)}}, gpuAt(t, b.read(), 0).Interconnect.Links)
}

// The ratios are mantissa and negative exponent of 10. A value with all bits set is not a measurement.
func TestNVLinkBitErrors(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nboard = b200\nlinks = 2\nnvlink.effective_ber = 0xfff\nfield.220.1 = 1294\nfield.222.0 = 0x200\nfield.222.1 = 0x00f\n"+
		"nvlink.fec = 7\nfield.250.1 = 12\nfield.236.1 = 13\n", gpu.GroupInterconnectBitErrors)
	links := gpuAt(t, b.read(), 0).Interconnect.Links
	require.Len(t, links, 2)
	assert.False(t, links[0].BitErrorRatio[gpu.BitErrorEffective].Known())
	approx(t, 5e-14, links[1].BitErrorRatio[gpu.BitErrorEffective], "1294 is 0x50e: 5e-14")
	assert.False(t, links[0].BitErrorRatio[gpu.BitErrorSymbol].Known(), "2e0 is no ratio")
	assert.Equal(t, gpu.Some(0.0), links[1].BitErrorRatio[gpu.BitErrorSymbol])
	for bin := range gpu.NumFECBins {
		total[int64](t, 7, links[0].FEC[bin], "a bin of link 0")
		want := map[int]int64{1: 13, 15: 12}[bin]
		if want == 0 {
			want = 7
		}
		total(t, want, links[1].FEC[bin], fmt.Sprintf("bin %d of link 1", bin))
	}
}

// NVLink 5 counts errors by link alone, each kind in a field of its own.
func TestNVLink5Errors(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nboard = b200\nlinks = 2\nnvlink.malformed = 1\nnvlink.overrun = 2\nnvlink.rcv_errors = 3\nnvlink.remote_errors = 4\n"+
		"nvlink.general_errors = 5\nnvlink.integrity = 6\nnvlink.discards = 7\nnvlink.unrecovered = 8\nnvlink.effective_errors = 9\nnvlink.symbol_errors = 10\n")
	for range 2 {
		d := gpuAt(t, b.read(), 0)
		for kind, want := range map[gpu.LinkErrorType]int64{
			gpu.LinkErrorMalformedPacket: 1, gpu.LinkErrorBufferOverrun: 2, gpu.LinkErrorReceive: 3, gpu.LinkErrorReceiveRemote: 4,
			gpu.LinkErrorReceiveGeneral: 5, gpu.LinkErrorLocalLinkIntegrity: 6, gpu.LinkErrorTransmitDiscard: 7,
			gpu.LinkErrorRecoveryFailed: 8, gpu.LinkErrorEffective: 9, gpu.LinkErrorSymbol: 10,
		} {
			total(t, 2*want, d.Interconnect.Errors[kind], fmt.Sprintf("errors %d", kind))
			total(t, want, d.Interconnect.Links[1].Errors[kind], fmt.Sprintf("errors %d of link 1", kind))
		}
	}
}

func TestNVLink4Errors(t *testing.T) {
	d := gpuAt(t, start(t, "gpus = 1\n[gpu 0]\nboard = h100").read(), 0)
	for kind := gpu.LinkErrorMalformedPacket; kind < gpu.NumLinkErrorTypes; kind++ {
		assert.False(t, d.Interconnect.Errors[kind].Known(), "errors %d", kind)
	}
}
