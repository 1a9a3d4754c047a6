// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	encoderStats = library.NewFunction("encoder sessions", "nvmlDeviceGetEncoderStats")
	captureStats = library.NewFunction("frame buffer capture sessions", "nvmlDeviceGetFBCStats")
)

// readEncoderSessions reads how many sessions encode video, and how fast.
func readEncoderSessions(dev *device, d *gpu.Device) {
	if dev.Can(encoderStats) {
		n, rate, latency, ret := dev.handle.GetEncoderStats()
		if dev.OK(encoderStats, library.Code(ret)) {
			d.Encoder = sessions(uint32(n), rate, latency)
		}
	}
}

// readFrameBufferCapture reads how many sessions capture the frame buffer, and how fast.
func readFrameBufferCapture(dev *device, d *gpu.Device) {
	if dev.Can(captureStats) {
		s, ret := dev.handle.GetFBCStats()
		if dev.OK(captureStats, library.Code(ret)) {
			d.FrameBuffer = sessions(s.SessionsCount, s.AverageFPS, s.AverageLatency)
		}
	}
}

// sessions converts numbers of sessions, frames a second and microseconds. Without a session there is nothing to average.
func sessions(n, rate, latency uint32) (s gpu.Sessions) {
	v, ok := library.Uint32(n)
	if s.Count = known(int64(v.Unsigned), ok); !ok || n == 0 {
		return s
	}
	frames, ok := library.Uint32(rate)
	s.FrameRate = known(frames.Real, ok)
	us, ok := library.Uint32(latency)
	s.Latency = known(us.Real*perMicro, ok)
	return s
}
