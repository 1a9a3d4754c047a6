// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func newTestSource(runner command.Runner) *Source {
	return New(&Config{}, runner, gpu.GroupAll, WithClock(smitest.EveryHalfMinute()))
}

// twoGPUs lists two GPUs, 000000000000000c and 000000000000000d.
func twoGPUs() *smitest.Tool {
	return &smitest.Tool{Answer: func(args string) (command.Result, error) {
		switch name, _, _ := strings.Cut(args, " "); name {
		case "list":
			return smitest.Prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}, ` +
				`{"gpu": 1, "bdf": "0000:04:00.0", "hip_uuid": "GPU-000000000000000d"}]`)
		case "static":
			return smitest.Prints(`[{"gpu": 0, "asic": {"market_name": "MI210"}}, {"gpu": 1, "asic": {"market_name": "MI210"}}]`)
		case "metric":
			return smitest.Prints(`[{"gpu": 0, "usage": {"gfx_activity": 5}}, {"gpu": 1, "usage": {"gfx_activity": 6}}]`)
		}
		return smitest.Prints("[]")
	}}
}
