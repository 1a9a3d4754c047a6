// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setSharing completes Holder.Sharing if it needs more than the allocation: a claim that several containers have, and replicas of a device.
// before is how the replicas of each device were shared in the last read; setSharing returns it for this read.
func setSharing(node *gpu.Node, devices *deviceid.Index, before map[string]gpu.Sharing) map[string]gpu.Sharing {
	after := make(map[string]gpu.Sharing)
	for i := range node.Devices {
		if !devices.IsLeaf(i) {
			continue
		}
		device := &node.Devices[i]
		dynamic := 0
		for j := range device.Holders {
			if device.Holders[j].Allocator == gpu.AllocatorDRA {
				dynamic++
			}
		}
		for j := range device.Holders {
			switch h := &device.Holders[j]; {
			case h.Sharing == gpu.SharingFraction:
			case h.Allocator == gpu.AllocatorDRA && dynamic > 1:
				h.Sharing = gpu.SharingClaim
			case h.Sharing == gpu.SharingReplicas:
				if _, ok := after[device.ID]; !ok {
					after[device.ID] = replicaSharing(device.ID, node.Processes, before)
				}
				h.Sharing = after[device.ID]
			}
		}
	}
	return after
}

// replicaSharing returns how the replicas of a device share it. The kubelet does not know. A process under MPS shows MPS, any other
// compute process shows time-slicing. What was seen once holds for as long as replicas are held, and MPS outweighs time-slicing.
func replicaSharing(device string, processes []gpu.Process, before map[string]gpu.Sharing) gpu.Sharing {
	sharing, ok := before[device]
	switch {
	case !ok:
		sharing = gpu.SharingReplicas
	case sharing == gpu.SharingMPS:
		return sharing
	}
	for i := range processes {
		p := &processes[i]
		if p.DeviceID != device {
			continue
		}
		switch {
		case p.Type == gpu.ProcessMPS, deviceid.IsMPSServer(p.Executable):
			return gpu.SharingMPS
		case p.Type == gpu.ProcessCompute, p.Type == gpu.ProcessComputeGraphics:
			sharing = gpu.SharingTimeSlicing
		}
	}
	return sharing
}
