// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// tegra is what NVIDIA's device plugin calls the GPU of a Jetson.
const tegra = "tegra"

// target is what an allocation's id says of the device.
type target struct {
	key     string     // by which a deviceIndex finds it; empty where the id is in no known form
	vendor  gpu.Vendor // empty where the id does not tell
	sharing gpu.Sharing
	// extended: the id begins as that of an NVIDIA GPU does, and goes on in a form that is not known. It is of a GPU, and which
	// one is only told if one that was read is called just so.
	extended bool
}

// parseID reads the id of a device as its device plugin calls it:
//
//	GPU-<uuid>, MIG-<uuid>                      NVIDIA
//	MIG-GPU-<uuid>/<gi>/<ci>                    NVIDIA, drivers before 470
//	…::<n>                                      NVIDIA, a replica (time-slicing or MPS)
//	nvidia<n>[/gi<m>][/vgpu<k>]                 GKE, vgpu a replica
//	0000:1b:00.0                                AMD, and plugins that hand out PCI functions
//	amdgpu_xcp_<n>                              AMD, a partition
//	…-slice-<n>                                 AMD, a replica (time-slicing)
//	tegra                                       NVIDIA's own plugin's only GPU of a Jetson
//	<n>, <n>:<m>                                NVIDIA's own plugins' index of a GPU (of a MIG instance: not told)
//
// Some plugins that share GPUs call their slots by a UUID and a number, GPU-<uuid>-<n>, and give the container another GPU than
// the kubelet chose: such an id is extended, and nothing is taken off it.
//
// resource is the name of the resource, which tells whether a number is an index: KubeVirt's plugin for the GPUs that it hands to
// virtual machines numbers IOMMU groups, nvidia.com/GA102GL_A10 and the like.
func parseID(resource, id string) target {
	t := target{vendor: vendorOf(resource), sharing: gpu.SharingExclusive}
	if base, n, ok := cutLast(id, "::"); ok && isNumber(n) {
		id, t.sharing = base, gpu.SharingReplicas
	} else if base, n, ok := cutLast(id, "-slice-"); ok && isNumber(n) {
		id, t.sharing = base, gpu.SharingTimeSlicing
	}
	switch {
	case isOldMIG(id):
		t.key, t.vendor = strings.ToLower(strings.TrimPrefix(id, "MIG-")), gpu.NVIDIA
	case strings.HasPrefix(id, "GPU-"), strings.HasPrefix(id, "MIG-"):
		t.key, t.vendor = strings.ToLower(id), gpu.NVIDIA
		t.extended = !isUUID(id[len("GPU-"):])
	case isPCIAddress(id):
		t.key = pciKey(id)
	case strings.HasPrefix(id, "amdgpu_xcp_"):
		t.key, t.vendor = id, gpu.AMD
	case strings.HasPrefix(id, "nvidia"):
		var replica bool
		if t.key, replica = parseGKE(id); t.key != "" {
			t.vendor = gpu.NVIDIA
		}
		if replica {
			t.sharing = gpu.SharingReplicas
		}
	case t.vendor == gpu.NVIDIA && id == tegra:
		t.key = id
	case t.vendor == gpu.NVIDIA && IsGPUResource(resource) && isNumber(id):
		t.key = indexKey(id)
	}
	return t
}

// isOldMIG tells MIG-GPU-<uuid>/<gi>/<ci>.
func isOldMIG(id string) bool {
	rest, ok := strings.CutPrefix(id, "MIG-GPU-")
	parts := strings.Split(rest, "/")
	return ok && len(parts) == 3 && isUUID(parts[0]) && isNumber(parts[1]) && isNumber(parts[2])
}

// isUUID tells a UUID in its usual form, of 36 characters.
func isUUID(s string) bool {
	if len(s) != len("01234567-89ab-cdef-0123-456789abcdef") {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8, i == 13, i == 18, i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F'):
			return false
		}
	}
	return true
}

// parseGKE reads nvidia<n>[/gi<m>][/vgpu<k>]; the numbers are those of the device node and of the GPU instance.
func parseGKE(id string) (key string, replica bool) {
	parts := strings.Split(id, "/")
	if !hasNumber(parts[0], "nvidia") {
		return "", false
	}
	key, parts = parts[0], parts[1:]
	if len(parts) > 0 && hasNumber(parts[0], "gi") {
		key, parts = key+"/"+parts[0], parts[1:]
	}
	if len(parts) > 0 && hasNumber(parts[0], "vgpu") {
		replica, parts = true, parts[1:]
	}
	if len(parts) > 0 {
		return "", false
	}
	return key, replica
}

// vendorOf tells whose device plugin or driver has a name, by its domain: nvidia.com/gpu, gpu.amd.com.
func vendorOf(name string) gpu.Vendor {
	domain, _, _ := strings.Cut(name, "/")
	switch {
	case domain == "nvidia.com" || strings.HasSuffix(domain, ".nvidia.com"):
		return gpu.NVIDIA
	case domain == "amd.com" || strings.HasSuffix(domain, ".amd.com"):
		return gpu.AMD
	}
	return ""
}

// IsGPUResource tells whether a resource stands for GPUs, whatever the ids of its devices look like. The vendors' plugins
// also hand out network interfaces and the like.
func IsGPUResource(resource string) bool {
	domain, name, _ := strings.Cut(resource, "/")
	switch domain {
	case "nvidia.com":
		return name == "gpu" || strings.HasPrefix(name, "gpu.") || strings.HasPrefix(name, "mig-")
	case "amd.com":
		return name == "gpu" || strings.HasPrefix(name, "spx") || strings.HasPrefix(name, "dpx") ||
			strings.HasPrefix(name, "tpx") || strings.HasPrefix(name, "qpx") || strings.HasPrefix(name, "cpx")
	}
	return false
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

func isNumber(s string) bool {
	if s == "" || len(s) > 9 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func hasNumber(s, prefix string) bool {
	digits, ok := strings.CutPrefix(s, prefix)
	return ok && isNumber(digits)
}

// isPCIAddress tells domain:bus:device.function, with a domain of four or eight digits.
func isPCIAddress(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	if !ok || (len(domain) != 4 && len(domain) != 8) || len(rest) != len("1b:00.0") || rest[2] != ':' || rest[5] != '.' {
		return false
	}
	for _, part := range []string{domain, rest[:2], rest[3:5], rest[6:]} {
		if _, err := strconv.ParseUint(part, 16, 32); err != nil {
			return false
		}
	}
	return true
}

// pciKey is the key of a PCI address, its domain with four digits where four do.
func pciKey(address string) string {
	address = strings.ToLower(address)
	if len(address) == len("00000000:1b:00.0") {
		address = strings.TrimPrefix(address, "0000")
	}
	return "pci:" + address
}

func indexKey(index string) string { return "index:" + index }
