// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "github.com/otelgpu/gpureceiver/internal/gpu"

// running adds processes on a device to a node.
func running(node *gpu.Node, device string, pids ...int64) *gpu.Node {
	for _, pid := range pids {
		node.Processes = append(node.Processes, gpu.Process{PID: pid, DeviceID: device, Executable: "python3"})
	}
	return node
}

func nodeOf(devices ...gpu.Device) *gpu.Node { return &gpu.Node{Vendor: gpu.NVIDIA, Devices: devices} }

func healthy(id string) gpu.Device { return gpu.Device{ID: id, Vendor: gpu.NVIDIA} }
