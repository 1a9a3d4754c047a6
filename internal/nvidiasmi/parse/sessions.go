// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

func encoder(b *builder) *gpu.Sessions       { return &device(b).Encoder }
func screenCapture(b *builder) *gpu.Sessions { return &device(b).FrameBuffer }

func sessionCount(quantity string, of func(*builder) *gpu.Sessions) setter {
	return integerOf(quantity, unitCount, func(b *builder) *gpu.Opt[int64] { return &of(b).Count })
}

func frameRate(quantity string, of func(*builder) *gpu.Sessions) setter {
	return boundedOf(quantity, unitCount, 0, maxSessionValue, func(b *builder) *gpu.Opt[float64] { return &of(b).FrameRate })
}

// frameLatency returns a setter of a latency, which the tool prints in microseconds without the unit.
func frameLatency(quantity string, of func(*builder) *gpu.Sessions) setter {
	return boundedOf(quantity, unitSeconds, 0, maxSessionValue, func(b *builder) *gpu.Opt[float64] { return &of(b).Latency })
}

// maxSessionValue is more than any frame rate, and than any latency in seconds.
const maxSessionValue = 1e9

// dropMeansOfNothing removes the means of sessions if there is no session. The tool prints 0 for them.
func dropMeansOfNothing(d *gpu.Device) {
	for _, s := range []*gpu.Sessions{&d.Encoder, &d.FrameBuffer} {
		if s.Count == gpu.Some(int64(0)) {
			*s = gpu.Sessions{Count: s.Count}
		}
	}
}

// xmlSessions reads the sessions of the encoder and of the capture of the frame buffer.
func xmlSessions() map[string]*element {
	stats := func(name string, of func(*builder) *gpu.Sessions) *element {
		return branch(map[string]*element{
			"session_count":   leaf(sessionCount(name+".session_count", of)),
			"average_fps":     leaf(frameRate(name+".average_fps", of)),
			"average_latency": leaf(frameLatency(name+".average_latency", of)),
		})
	}
	return map[string]*element{
		"encoder_stats": stats("encoder_stats", encoder),
		"fbc_stats":     stats("fbc_stats", screenCapture),
	}
}

// sessionFields returns the columns of the encoder. The capture of the frame buffer has no columns.
func sessionFields() []Field {
	const sessions = gpu.GroupEncoderSessions
	return []Field{
		{[]string{"encoder.stats.sessionCount"}, sessions, false, sessionCount("encoder.stats.sessionCount", encoder)},
		{[]string{"encoder.stats.averageFps"}, sessions, false, frameRate("encoder.stats.averageFps", encoder)},
		{[]string{"encoder.stats.averageLatency"}, sessions, false, frameLatency("encoder.stats.averageLatency", encoder)},
	}
}
