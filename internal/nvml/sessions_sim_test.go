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
