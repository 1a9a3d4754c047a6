// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// leastInvalid is how many files of a GPU that has never answered must be an invalid argument for the GPU to be unreachable. By that
// answer the driver says of up to three quantities that a GPU does not have them. A GPU has five or more files of sensors and use.
const leastInvalid = 4

// judge adds a fault where the GPU did not answer: where no file could be read for which the driver asks it. The problems from
// readProblems on are of its quantities.
func (g *GPU) judge(r *reader, result *Result, power powerState, readProblems int) {
	d := &result.Device
	switch {
	case r.answered > 0:
		g.answered = true
	case power == broken:
		d.AddFault(gpu.FaultUnreachable, "the kernel could not wake it up (runtime power management); see the kernel's log")
	case r.failed == 0 && (r.invalid == 0 || !g.answered && r.invalid < leastInvalid):
		// It has none of the quantities that are wanted.
	case readPowerState(r) == suspended:
		g.energy.counter.Doubt()
		r.problems = r.problems[:readProblems]
		r.problem("asleep", fmt.Errorf("amdgpu: %s: %w", r.title, errRefuses))
	case r.denied > 0 && r.denied == r.failed: // which says nothing of the GPU
		result.Denied = r.lastErr
	default:
		d.AddFault(gpu.FaultUnreachable, "none of its quantities can be read: "+r.lastErr.Error())
	}
}
