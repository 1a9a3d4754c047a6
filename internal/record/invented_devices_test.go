// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A node that is not trusted can invent other devices at each read. The memory for them is bounded.
func TestStartsOfInventedDevicesAreBounded(t *testing.T) {
	r := newRecorder(everything())
	read := func(i int) *gpu.Node {
		node := &gpu.Node{Time: timeAt(i), Devices: []gpu.Device{
			{ID: "GPU-real", Energy: gpu.Total(float64(i))},
		}}
		for d := range 256 {
			node.Devices = append(node.Devices, gpu.Device{ID: fmt.Sprintf("GPU-%d-%d", i, d), Energy: gpu.Total(1.0)})
		}
		return node
	}
	for i := range 100 {
		r.Record(read(i))
	}
	assert.LessOrEqual(t, len(r.starts.devices), maxDevices+257)
	assert.Equal(t, timeAt(0), r.starts.devices["GPU-real"][seriesKey{counter: counterEnergy}].start.AsTime(), "the counters of the real device continue")
}
