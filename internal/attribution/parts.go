// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/fractions"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// maxMemoryFactor bounds OwnersConfig.VolcanoMemoryFactor.
const maxMemoryFactor = 1024

// partsConfig is what the configuration says about GPUs that are allocated in parts.
type partsConfig struct {
	reservationNamespaces []string
	volcanoFactor         int64
}

func newPartsConfig(owners *OwnersConfig) partsConfig {
	if owners == nil {
		return partsConfig{}
	}
	return partsConfig{reservationNamespaces: owners.ReservationNamespaces, volcanoFactor: int64(owners.VolcanoMemoryFactor)}
}

// granted returns the GPUs that a container shares according to the annotations of its pod. It returns false if they say nothing, or do not
// agree with what the kubelet lists.
//
// In this case the kubelet's ID names a slot (GPU-<uuid>-<n>, …). The slot may belong to another GPU than the container was given, so the
// annotation takes precedence. Any user who may create a pod may annotate it. So the annotation counts only for slots: it cannot turn a
// whole GPU into a part, or into another GPU.
func (p *partsConfig) granted(h *holders, allocation *podresources.Allocation) ([]allocatedDevice, bool) {
	if allocation.Dynamic != nil || h.node.Vendor != gpu.NVIDIA {
		return nil, false
	}
	if id := deviceid.ParsePluginID(allocation.Resource, allocation.ID); !id.Extended && id.Sharing == gpu.SharingExclusive {
		return nil, false
	}
	container := podContainer{namespace: allocation.Namespace, pod: allocation.Pod, name: allocation.Container}
	pod := h.containers.podNamed(container, h.users)
	if pod == nil || pod.Metadata == nil {
		return nil, false
	}
	if allocation.Resource == fractions.GPUShareResource {
		return grantedGPUShare(h, pod.Metadata, container)
	}
	return p.grantedVGPUs(h, pod.Metadata, container, allocation.Resource)
}

func grantedGPUShare(h *holders, pod *kube.PodMetadata, container podContainer) ([]allocatedDevice, bool) {
	var units, requested int64
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if c.Init {
			continue
		}
		requested += c.Devices[fractions.GPUShareResource]
		if c.Name == container.name {
			units = c.Devices[fractions.GPUShareResource]
		}
	}
	share, ok := fractions.ParseGPUShare(pod.Annotations, units, requested)
	if !ok {
		return nil, false
	}
	leaves := h.devices.Find(share.DeviceNode)
	if len(leaves) != 1 || h.node.Devices[leaves[0]].Name != share.DeviceNode {
		return nil, false // not every source names device nodes
	}
	return []allocatedDevice{grantedDevice(container, fractions.GPUShareResource, share.DeviceNode, share)}, true
}

func (p *partsConfig) grantedVGPUs(h *holders, pod *kube.PodMetadata, container podContainer, resource string) ([]allocatedDevice, bool) {
	entries, ok := fractions.VGPUs(pod.Annotations, p.volcanoFactor)
	if !ok {
		return nil, false
	}
	entry := entryOf(container.name, requesting(pod, resource), len(entries))
	if entry < 0 {
		return nil, false
	}
	var devices []allocatedDevice
	for _, vgpu := range entries[entry] {
		id := deviceid.ParsePluginID(resource, vgpu.UUID)
		if id.Vendor != gpu.NVIDIA || id.Extended || !strings.HasPrefix(vgpu.UUID, "GPU-") || !isWhole(h, id.Key) {
			return nil, false
		}
		devices = append(devices, grantedDevice(container, resource, id.Key, vgpu))
	}
	return devices, true
}

// isWhole reports whether a key represents a GPU and not its partitions. An unknown GPU may be whole.
func isWhole(h *holders, key string) bool {
	return !slices.ContainsFunc(h.devices.Find(key), func(i int) bool { return h.node.Devices[i].Parent != "" })
}

func grantedDevice(container podContainer, resource, key string, grant fractions.Grant) allocatedDevice {
	return allocatedDevice{
		container: container, holder: gpu.Holder{Resource: resource}, keys: []string{key}, inKnownForm: true, isGPU: true, grant: grant,
	}
}

// requesting returns the containers of a pod that request a resource, in the order in which the kubelet allocates.
func requesting(pod *kube.PodMetadata, resource string) []kube.SpecContainer {
	return slices.DeleteFunc(slices.Clone(pod.Containers), func(c kube.SpecContainer) bool { return c.Devices[resource] == 0 })
}

// entryOf returns the place of a container among those that have an entry in an annotation with that many entries; -1 if it is not known.
// Volcano and older versions of HAMi have no entries of init containers.
func entryOf(name string, requesting []kube.SpecContainer, entries int) int {
	if len(requesting) != entries {
		requesting = slices.DeleteFunc(requesting, func(c kube.SpecContainer) bool { return c.Init })
	}
	if len(requesting) != entries {
		return -1
	}
	return slices.IndexFunc(requesting, func(c kube.SpecContainer) bool { return c.Name == name })
}
