// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// settle completes what can only be told when all allocations are known.
func settle(node *gpu.Node, d *domain) {
	for i := range node.Devices {
		device := &node.Devices[i]
		if !d.index.isLeaf(i) {
			continue
		}
		device.HoldersKnown = d.certain[i] || len(device.Holders) > 0
		dynamic := 0
		for j := range device.Holders {
			if device.Holders[j].DRA {
				dynamic++
			}
		}
		replicas := gpu.NumSharings // not looked at yet
		for j := range device.Holders {
			h := &device.Holders[j]
			switch {
			case h.DRA && dynamic > 1:
				h.Sharing = gpu.SharingClaim
			case h.Sharing == gpu.SharingReplicas:
				if replicas == gpu.NumSharings {
					replicas = d.replicas(device, node.Processes)
				}
				h.Sharing = replicas
			}
		}
	}
	// A GPU is held by those who hold its partitions.
	for i := range node.Devices {
		if d.index.isLeaf(i) {
			continue
		}
		parent := &node.Devices[i]
		parent.HoldersKnown = true
		for _, leaf := range d.index.leaves[i] {
			parent.HoldersKnown = parent.HoldersKnown && node.Devices[leaf].HoldersKnown
			for _, h := range node.Devices[leaf].Holders {
				if !slices.ContainsFunc(parent.Holders, func(o gpu.Holder) bool { return o.Container == h.Container }) {
					parent.Holders = append(parent.Holders, h)
				}
			}
		}
	}
}

// mpsServer begins the name of the process that works for MPS clients; its own type is that of any other.
const mpsServer = "nvidia-cuda-mps"

// replicas tells how the replicas of a device share it. The kubelet does not know; a process under MPS shows MPS, any
// other one time-slicing. What was once seen holds for as long as replicas are held.
func (d *domain) replicas(device *gpu.Device, processes []gpu.Process) gpu.Sharing {
	sharing := gpu.SharingReplicas
	if s := d.sharing[device.ID]; s != nil {
		s.generation = d.generation
		if s.sharing == gpu.SharingMPS {
			return s.sharing
		}
		sharing = s.sharing
	}
	for i := range processes {
		p := &processes[i]
		if p.DeviceID != device.ID {
			continue
		}
		switch {
		case p.Type == gpu.ProcessMPS, strings.HasPrefix(p.Executable, mpsServer):
			d.sharing[device.ID] = &seenSharing{gpu.SharingMPS, d.generation}
			return gpu.SharingMPS
		case p.Type == gpu.ProcessCompute, p.Type == gpu.ProcessComputeGraphics:
			sharing = gpu.SharingTimeSlicing
		}
	}
	if sharing != gpu.SharingReplicas {
		d.sharing[device.ID] = &seenSharing{sharing, d.generation}
	}
	return sharing
}

// seenSharing is how replicas of a device were seen to share it.
type seenSharing struct {
	sharing    gpu.Sharing
	generation uint64
}
