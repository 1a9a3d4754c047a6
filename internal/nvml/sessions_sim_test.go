// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Without a session there is nothing to average. Numbers that mean none are absent.
func TestSessions(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nencoder.fps = 30\nencoder.latency = 0.01\ncapture.sessions = 1\ncapture.fps = raw(0xFFFFFFFF)\ncapture.latency = 0.25\n")
	d := gpuAt(t, b.read(), 0)
	assert.Equal(t, gpu.Sessions{Count: gpu.Some[int64](0)}, d.Encoder)
	assert.Equal(t, gpu.Sessions{Count: gpu.Some[int64](1), Latency: gpu.Some(0.25)}, d.FrameBuffer)
	b.set("[gpu 0]\ncapture.sessions = raw(0xFFFFFFFF)")
	assert.Equal(t, gpu.Sessions{}, gpuAt(t, b.read(), 0).FrameBuffer)
}

// The revolutions of the first fan are known where its share is not wanted, too. A board without fans has none.
func TestFanRevolutions(t *testing.T) {
	for board, want := range map[string][]gpu.Fan{
		"geforce":                  {{Location: "fan0", Speed: gpu.Some[int64](900)}},
		"h100":                     nil,
		"geforce\nfan.rpm = 0":     {{Location: "fan0", Speed: gpu.Some[int64](0)}},
		"geforce\nfan.rpm = 99999": nil,
	} {
		t.Run(board, func(t *testing.T) {
			assert.Equal(t, want, gpuAt(t, start(t, "gpus = 1\n[gpu 0]\nboard = "+board, gpu.GroupFanSpeed).read(), 0).Fans)
		})
	}
}

// The window of a MIG instance is its own part. A GPU without its own memory has no window.
func TestBAR1(t *testing.T) {
	n := start(t, "gpus = 1\n[gpu 0]\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 1\nci = 0\nbar1.total = 64Gi\nbar1.used = 1Mi", gpu.GroupBAR1).read()
	assert.Equal(t, gpu.Memory{BAR1Limit: gpu.Some[int64](64 << 30), BAR1Usage: gpu.Some[int64](1 << 20)}, n.Devices[1].Memory)
	assert.True(t, n.Devices[0].Memory.BAR1Limit.Known())
}

func TestNoBAR1(t *testing.T) {
	n := start(t, "gpus = 1\n[gpu 0]\nboard = gb10", gpu.GroupBAR1).read()
	assert.Empty(t, n.Problems)
	assert.Equal(t, gpu.Memory{}, gpuAt(t, n, 0).Memory)
}
