// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// clearDuplicateIDs removes the UUID of a GPU that is listed with the UUID of another. It is then identified by its PCI
// address, as a GPU whose UUID cannot be read.
func clearDuplicateIDs(out *output) {
	ids := map[string]bool{}
	for i := range out.listing.GPUs {
		d := &out.listing.GPUs[i].Device
		if d.ID != "" && ids[d.ID] && d.Info.PCIAddress != "" {
			out.problem(gpu.ProblemQuantity, d.ID, "identity", fmt.Errorf("nvidia-smi lists two GPUs as %s: the one at %s is identified by its PCI address",
				d.ID, d.Info.PCIAddress))
			d.ID = ""
		}
		ids[d.ID] = true
	}
}

// dropDuplicates removes devices that are in the node already: whatever is recorded for the one would contradict the other.
func dropDuplicates(n *gpu.Node) (problems []gpu.Problem) {
	ids := map[string]bool{}
	n.Devices = slices.DeleteFunc(n.Devices, func(d gpu.Device) bool {
		id := cmp.Or(d.ID, d.Location().PCIAddress)
		if !ids[id] {
			ids[id] = true
			return false
		}
		problems = append(problems, gpu.Problem{
			Device: id, What: "identity", Err: fmt.Errorf("nvidia-smi lists two devices as %s: the second one is omitted", id),
		})
		return true
	})
	return problems
}
