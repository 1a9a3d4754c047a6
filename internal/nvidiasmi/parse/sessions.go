// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// sessionFields returns the sessions of the encoder and of the capture of the frame buffer, which has no columns. The tool prints the
// latency in microseconds without the unit.
func sessionFields() []Field {
	encoder := func(b *builder) *gpu.Sessions { return &device(b).Encoder }
	capture := func(b *builder) *gpu.Sessions { return &device(b).FrameBuffer }
	count := func(target func(*builder) *gpu.Sessions) setter {
		return integerOf(unitCount, func(b *builder) *gpu.Opt[int64] { return &target(b).Count })
	}
	rate := func(target func(*builder) *gpu.Sessions) setter {
		return boundedOf(unitCount, 0, maxSessionValue, func(b *builder) *gpu.Opt[float64] { return &target(b).FrameRate })
	}
	latency := func(target func(*builder) *gpu.Sessions) setter {
		return boundedOf(unitSeconds, 0, maxSessionValue, func(b *builder) *gpu.Opt[float64] { return &target(b).Latency })
	}
	const sessions = gpu.GroupEncoderSessions
	return []Field{
		column("encoder.stats.sessionCount", sessions, "", count(encoder)),
		column("encoder.stats.averageFps", sessions, "", rate(encoder)),
		column("encoder.stats.averageLatency", sessions, "", latency(encoder)),
		xmlOnly("encoder_stats.session_count", "encoder_stats/session_count", count(encoder)),
		xmlOnly("encoder_stats.average_fps", "encoder_stats/average_fps", rate(encoder)),
		xmlOnly("encoder_stats.average_latency", "encoder_stats/average_latency", latency(encoder)),
		xmlOnly("fbc_stats.session_count", "fbc_stats/session_count", count(capture)),
		xmlOnly("fbc_stats.average_fps", "fbc_stats/average_fps", rate(capture)),
		xmlOnly("fbc_stats.average_latency", "fbc_stats/average_latency", latency(capture)),
	}
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
