// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fractions

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// GPUShareResource is the resource of Aliyun's gpushare. Its devices are units of memory.
const GPUShareResource = "aliyun.com/gpu-mem"

// The annotations of Aliyun's gpushare: the GPU of a pod, how many units of memory all its containers have together, and how many each
// GPU of the node has. A unit is a GiB or, with the device plugin's memory-unit, a MiB. What one container has is its own request.
// https://github.com/AliyunContainerService/gpushare-scheduler-extender/blob/105a36439a50a6320ccaf4d4f2f969702d438798/pkg/utils/pod.go (PatchPodAnnotationSpec)
// https://github.com/AliyunContainerService/gpushare-device-plugin/blob/114990deea8fc25b02ac1e1c150803eb91410810/cmd/nvidia/main.go (memory-unit)
//
// The index of the GPU is the number of its device node, /dev/nvidia<n>, and not NVML's index:
// https://github.com/AliyunContainerService/gpushare-device-plugin/blob/0ffb5090e84945664e64340625e8e246db50e9ee/pkg/gpu/nvidia/nvidia.go (getDevices)
const (
	gpushareIndex  = "ALIYUN_COM_GPU_MEM_IDX"
	gpusharePod    = "ALIYUN_COM_GPU_MEM_POD"
	gpushareDevice = "ALIYUN_COM_GPU_MEM_DEV"
)

// GPUShare is the part of a GPU that a container was given.
type GPUShare struct {
	DeviceNode    string // nvidia<n>
	units, device int64  // of the container, and of the GPU
}

// ParseGPUShare returns the part of a container that requests some units; requested is what all containers of the pod do. It returns
// false if the annotations are missing, malformed or do not agree with the requests.
func ParseGPUShare(annotations map[string]string, units, requested int64) (GPUShare, bool) {
	index, err1 := strconv.ParseUint(annotations[gpushareIndex], 10, 16)
	pod, err2 := strconv.ParseInt(annotations[gpusharePod], 10, 32)
	device, err3 := strconv.ParseInt(annotations[gpushareDevice], 10, 32)
	if err1 != nil || err2 != nil || err3 != nil || units <= 0 || pod != requested || pod < units || pod > device {
		return GPUShare{}, false
	}
	return GPUShare{DeviceNode: "nvidia" + strconv.FormatUint(index, 10), units: units, device: device}, true
}

// Part implements Grant. The limit is in the unit in which the GPU's units add up to about the memory that it has: a GiB is 1,024 MiB, so
// only one of them does.
func (g GPUShare) Part(memory gpu.Opt[int64]) Part {
	part := Part{Share: gpu.Some(float64(g.units) / float64(g.device))}
	if total, ok := memory.Get(); ok {
		for _, unit := range []int64{mib, 1024 * mib} {
			if all := g.device * unit; all > total/2 && all < total*2 {
				part.MemoryLimit = gpu.Some(g.units * unit)
			}
		}
	}
	return part
}
