// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"math"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseLinkSpeed(t *testing.T) {
	for text, want := range map[string]int64{
		"2.5 GT/s PCIe": 1, "5.0 GT/s PCIe": 2, "5 GT/s": 2, "8.0 GT/s PCIe\n": 3, "16.0 GT/s PCIe": 4, "32.0 GT/s PCIe": 5,
		"64.0 GT/s PCIe": 6,
	} {
		assert.Equal(t, gpu.Some(want), parseLinkSpeed(text), text)
	}
	for _, text := range []string{"Unknown", "", "2.5", "16.0 Gb/s", "7.0 GT/s", "16.05 GT/s", "1.60 GT/s", ". GT/s", "999999999999 GT/s"} {
		assert.False(t, parseLinkSpeed(text).Known(), text)
	}
}

// TestPCIeCounts: the register of a GPU that is off the bus is not a count, and a quantity that is not wanted is not reported.
func TestPCIeCounts(t *testing.T) {
	table := gpumetrics.Table{PCIe: gpumetrics.PCIeCounts{
		Replays: gpu.Some[uint64](1), Rollovers: gpu.Some[uint64](2), Recoveries: gpu.Some[uint64](math.MaxUint32),
		NAKsSent: gpu.Some[uint64](4), NAKsReceived: gpu.Some[uint64](1 << 63),
	}}
	read := func(want gpu.Group) gpu.PCIe {
		var d gpu.Device
		readPCIe(&reader{readFile: func(string) ([]byte, error) { return nil, syscall.ENOENT }}, want, &table, &d)
		return d.PCIe
	}
	assert.Equal(t, gpu.PCIe{Replays: gpu.Total[int64](1)}, read(gpu.GroupPCIeReplay))
	assert.Equal(t, gpu.PCIe{ReplayRollovers: gpu.Total[int64](2), NAKsTransmitted: gpu.Total[int64](4)}, read(gpu.GroupPCIeDetail))
}
