// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func newTestSource(runner command.Runner) *Source {
	return New(&Config{}, runner, gpu.GroupAll, WithClock(smitest.EveryHalfMinute()))
}

// twoGPUs lists two GPUs, 000000000000000c and 000000000000000d.
func twoGPUs() *smitest.Tool {
	return smitest.ROCmTool(`{"card0": {"Unique ID": "0xc", "PCI Bus": "0000:03:00.0", "Card Series": "MI210", "GPU use (%)": "5"},`+
		`"card1": {"Unique ID": "0xd", "PCI Bus": "0000:04:00.0", "Card Series": "MI210", "GPU use (%)": "6"}}`, "")
}
