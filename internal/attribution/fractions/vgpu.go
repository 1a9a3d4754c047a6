// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fractions

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The annotations in which HAMi and Volcano write the vGPUs of a pod. Both have one form:
//
//	GPU-0fc3…,NVIDIA,3000,30:GPU-7a51…,NVIDIA,3000,30:;GPU-0fc3…,NVIDIA,5000,0:;
//
// A device has its UUID, its type, memory and the percentage of its cores (0: no limit); it ends with a colon. A semicolon
// ends a container (HAMi), or is between two (Volcano).
// https://github.com/Project-HAMi/HAMi/blob/12b5870bb630aef3151afa8d41dec39336057540/docs/develop/protocol.md
// https://github.com/Project-HAMi/HAMi/blob/0136974a3700156fedee01c11863f87f5f4fb677/pkg/device/devices.go (EncodePodSingleDevice)
// https://github.com/volcano-sh/volcano/blob/011c6dc6da1bea92eabfebf8faf56ffe5339fbdd/pkg/scheduler/api/devices/nvidia/vgpu/utils.go (encodePodDevices)
//
// The devices to allocate are in a second annotation of each, which is emptied as the device plugin allocates them.
//
// The memory is in MiB. For Volcano it is in multiples of MiB if its device plugin has --gpu-memory-factor:
// https://github.com/Project-HAMi/volcano-vgpu-device-plugin/blob/07e123e6a322c5b07f7b398e2698d0b541b84ac2/pkg/plugin/vgpu/config/config.go (GPUMemoryFactor)
//
// Containers that request nothing have an empty entry (HAMi), or no entry (Volcano, resourcereqs). So the n-th entry that is not empty
// belongs to the n-th container that requests the resource. The device plugins find it in the same way (GetNextDeviceRequest): the kubelet
// calls them for one container after the other.
const (
	hamiAnnotation    = "hami.io/vgpu-devices-allocated"
	volcanoAnnotation = "volcano.sh/vgpu-ids-new"
)

// maxCores is the percentage of all cores of a GPU.
const maxCores = 100

// VGPU is the part of a GPU that a container was given.
type VGPU struct {
	UUID   string // GPU-<uuid> for a GPU; a name of the scheduler's own for a MIG instance
	memory int64  // bytes; 0 if it is not known
	cores  int64  // percentage; 0 means no limit
}

// VGPUs returns the vGPUs of the containers of a pod that have any, in the order of the containers. ok is false if the pod has no such
// annotation, or one that is malformed. volcanoFactor is the memory unit of Volcano's device plugin, in MiB.
func VGPUs(annotations map[string]string, volcanoFactor int64) (containers [][]VGPU, ok bool) {
	if value, found := annotations[hamiAnnotation]; found {
		return parseVGPUs(value, 1)
	}
	if value, found := annotations[volcanoAnnotation]; found {
		return parseVGPUs(value, volcanoFactor)
	}
	return nil, false
}

func parseVGPUs(value string, factor int64) ([][]VGPU, bool) {
	var containers [][]VGPU
	for entry := range strings.SplitSeq(value, ";") {
		var vgpus []VGPU
		for device := range strings.SplitSeq(entry, ":") {
			if device == "" {
				continue
			}
			vgpu, ok := parseVGPU(device, factor)
			if !ok {
				return nil, false
			}
			if vgpu.UUID != "" {
				vgpus = append(vgpus, vgpu)
			}
		}
		if len(vgpus) > 0 {
			containers = append(containers, vgpus)
		}
	}
	return containers, len(containers) > 0
}

func parseVGPU(s string, factor int64) (VGPU, bool) {
	fields := strings.Split(s, ",")
	if len(fields) < 4 {
		return VGPU{}, false
	}
	memory, err1 := strconv.ParseInt(fields[2], 10, 32)
	cores, err2 := strconv.ParseInt(fields[3], 10, 32)
	if err1 != nil || err2 != nil || memory < 0 || cores < 0 || cores > maxCores || memory*factor > maxMiB {
		return VGPU{}, false
	}
	return VGPU{UUID: fields[0], memory: memory * factor * mib, cores: cores}, true
}

// Part implements Grant. Memory and cores are limited apart from each other. The share is the larger of the two, because what is left of
// the other is of no use to anyone else to that extent: a container with all cores has the GPU to itself.
func (v VGPU) Part(memory gpu.Opt[int64]) Part {
	part := Part{}
	if v.memory > 0 {
		part.MemoryLimit = gpu.Some(v.memory)
	}
	cores := float64(v.cores) / maxCores
	share, known := memoryShare(v.memory, memory).Get()
	switch {
	case known:
		part.Share = gpu.Some(max(share, cores))
	case v.cores == maxCores:
		part.Share = gpu.Some(1.0)
	}
	return part
}
