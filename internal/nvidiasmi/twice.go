// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// namesakes takes the UUID away from a GPU that is listed with another's: it is told by its address, as one whose UUID cannot be
// read.
func (r *Reader) namesakes(log *parse.Listing) {
	seen := make(map[string]bool, len(log.GPUs))
	for i := range log.GPUs {
		d := &log.GPUs[i].Device
		if d.ID != "" && seen[d.ID] && d.Info.PCIAddress != "" {
			r.problem(gpu.ProblemQuantity, d.ID, "identity", fmt.Errorf("nvidia-smi: it lists two GPUs as %s: the one at %s is told by its address",
				d.ID, d.Info.PCIAddress))
			d.ID = ""
		}
		seen[d.ID] = true
	}
}

// once leaves out devices that are told of twice: all that is recorded of the one would be in conflict with the other.
func (r *Reader) once() {
	seen := make(map[string]bool, len(r.node.Devices))
	r.node.Devices = slices.DeleteFunc(r.node.Devices, func(d gpu.Device) bool {
		id := firstOf(d.ID, firstOf(d.Info.PCIAddress, d.Name))
		if !seen[id] {
			seen[id] = true
			return false
		}
		r.problem(gpu.ProblemQuantity, id, "identity", fmt.Errorf("nvidia-smi: it lists two devices as %s: the second is left out", id))
		return true
	})
}
