// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ID is what a device plugin's ID says about the device.
type ID struct {
	Key     string     // finds the device in an Index; empty if the ID has no known form
	Vendor  gpu.Vendor // empty if neither the resource nor the ID names one
	Sharing gpu.Sharing
	// Extended reports that the ID starts like the ID of an NVIDIA GPU and continues in an unknown form. It represents a GPU, and only a
	// device that has exactly this ID is that GPU. Some plugins that share GPUs name their slots GPU-<uuid>-<n> and give the container
	// another GPU than the kubelet chose, so nothing may be cut off such an ID.
	Extended bool
}

// IsGPU reports whether the ID has the form of a GPU's ID. Any device may have a PCI address.
func (id *ID) IsGPU() bool { return id.Key != "" && !strings.HasPrefix(id.Key, pciPrefix) }

// forms parse the forms of device IDs. The first that matches counts.
var forms = []func(resource, id string) (ID, bool){
	parseOldMIG, // MIG-GPU-<uuid>/<gi>/<ci>: NVIDIA drivers before 470
	parseUUID,   // GPU-<uuid>, MIG-<uuid>: NVIDIA
	parsePCI,    // <domain>:<bus>:<device>.<function>: AMD, and plugins that hand out PCI functions
	parseXCP,    // amdgpu_xcp_<n>: the partitions of an AMD GPU but the first
	parseGKE,    // nvidia<n>[/gi<m>][/vgpu<k>]: GKE; vgpu is a replica
	parseTegra,  // tegra: NVIDIA's plugin, the only GPU of a Jetson
	parseIndex,  // <n>: NVIDIA's plugins, the index of a GPU; <n>:<m> for a MIG instance identifies none
}

// replicaSuffixes follow the IDs of replicas: <id><separator><number>.
var replicaSuffixes = []struct {
	separator string
	sharing   gpu.Sharing
}{
	{"::", gpu.SharingReplicas},         // NVIDIA: time-slicing or MPS
	{"-slice-", gpu.SharingTimeSlicing}, // AMD
}

// ParsePluginID parses the ID of a device as its device plugin writes it. The resource decides what a bare number is: KubeVirt's
// plugin numbers IOMMU groups under resources such as nvidia.com/GA102GL_A10.
func ParsePluginID(resource, id string) ID {
	sharing := gpu.SharingExclusive
	for _, suffix := range replicaSuffixes {
		i := strings.LastIndex(id, suffix.separator)
		if i >= 0 && isNumber(id[i+len(suffix.separator):]) {
			id, sharing = id[:i], suffix.sharing
			break
		}
	}
	for _, parse := range forms {
		if parsed, ok := parse(resource, id); ok {
			if parsed.Vendor == "" {
				parsed.Vendor = VendorOf(resource)
			}
			if parsed.Sharing == gpu.SharingExclusive {
				parsed.Sharing = sharing
			}
			return parsed
		}
	}
	return ID{Vendor: VendorOf(resource), Sharing: sharing}
}

func parseOldMIG(_, id string) (ID, bool) {
	rest, ok := strings.CutPrefix(id, "MIG-GPU-")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || !isUUID(parts[0]) || !isNumber(parts[1]) || !isNumber(parts[2]) {
		return ID{}, false
	}
	return ID{Key: idKey(strings.TrimPrefix(id, "MIG-")), Vendor: gpu.NVIDIA}, true
}

func parseUUID(_, id string) (ID, bool) {
	if !hasUUIDPrefix(id) {
		return ID{}, false
	}
	return ID{Key: idKey(id), Vendor: gpu.NVIDIA, Extended: !isUUID(id[len("GPU-"):])}, true
}

func parsePCI(_, id string) (ID, bool) { return ID{Key: pciKey(id)}, isPCIAddress(id) }

func parseXCP(_, id string) (ID, bool) {
	return ID{Key: id, Vendor: gpu.AMD}, strings.HasPrefix(id, "amdgpu_xcp_")
}

// parseGKE reads the numbers of the device node and of the GPU instance.
func parseGKE(_, id string) (ID, bool) {
	parts := strings.Split(id, "/")
	if !hasNumber(parts[0], nvidiaNode) {
		return ID{}, false
	}
	parsed := ID{Key: parts[0], Vendor: gpu.NVIDIA}
	parts = parts[1:]
	if len(parts) > 0 && hasNumber(parts[0], "gi") {
		parsed.Key, parts = parsed.Key+"/"+parts[0], parts[1:]
	}
	if len(parts) > 0 && hasNumber(parts[0], "vgpu") {
		parsed.Sharing, parts = gpu.SharingReplicas, parts[1:]
	}
	return parsed, len(parts) == 0
}

func parseTegra(resource, id string) (ID, bool) {
	return ID{Key: tegraKey}, id == tegraKey && VendorOf(resource) == gpu.NVIDIA
}

func parseIndex(resource, id string) (ID, bool) {
	return ID{Key: indexKey(id)}, isNumber(id) && VendorOf(resource) == gpu.NVIDIA && IsPhysical(resource)
}
