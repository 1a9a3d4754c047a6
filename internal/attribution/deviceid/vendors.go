// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"path"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The DRA drivers whose devices are GPUs.
const (
	DriverNVIDIA = "gpu.nvidia.com"
	DriverAMD    = "gpu.amd.com"
	// DriverHAMi is HAMi's driver for shares of NVIDIA GPUs.
	DriverHAMi = "hami-core-gpu.project-hami.io"
)

// vendors are the names under which each vendor's software hands out devices.
var vendors = []struct {
	vendor    gpu.Vendor
	domain    string   // of the device plugins' resources; the DRA drivers' names are below it
	resources []string // patterns (path.Match) of the resources that represent GPUs, without the domain
	virtual   []string // patterns of those for virtual machines: virtual GPUs by the names of their types, GPUs as a whole
	driver    string   // the DRA driver whose devices are GPUs
}{
	{gpu.NVIDIA, "nvidia.com", []string{"gpu", "gpu.*", "mig-*"}, []string{"GRID_*", "NVIDIA_*"}, DriverNVIDIA},
	{gpu.AMD, "amd.com", []string{"gpu", "spx*", "dpx*", "tpx*", "qpx*", "cpx*"}, []string{"gpu_vf", "gpu_pf"}, DriverAMD},
}

// others are the resources and DRA drivers under which the software of others hands out a vendor's GPUs.
var others = map[string]gpu.Vendor{
	"tencent.com/vcuda-core":   gpu.NVIDIA, // tkestack's GPU manager, hundredths of GPUs: no ID identifies one
	"tencent.com/vcuda-memory": gpu.NVIDIA, // its blocks of 256 MiB
	DriverHAMi:                 gpu.NVIDIA,
}

// VendorOf returns the vendor whose device plugin or DRA driver has a name, by the name's domain (nvidia.com/gpu, gpu.amd.com);
// empty for any other domain.
func VendorOf(name string) gpu.Vendor {
	if vendor := others[name]; vendor != "" {
		return vendor
	}
	domain, _, _ := strings.Cut(name, "/")
	for _, v := range vendors {
		if domain == v.domain || strings.HasSuffix(domain, "."+v.domain) {
			return v.vendor
		}
	}
	return ""
}

// IsGPUResource reports whether a resource represents GPUs, for any form of the IDs of its devices. The vendors' plugins also allocate
// network interfaces and other devices.
func IsGPUResource(resource string) bool {
	return others[resource] != "" || IsPhysical(resource) || isVirtual(resource)
}

// IsPhysical reports whether a resource represents GPUs or their partitions that a vendor's device plugin allocates to containers.
func IsPhysical(resource string) bool {
	domain, name, _ := strings.Cut(resource, "/")
	for _, v := range vendors {
		if domain == v.domain && MatchesAny(v.resources, name) {
			return true
		}
	}
	return false
}

// isVirtual reports whether a resource of a vendor represents GPUs of virtual machines.
func isVirtual(resource string) bool {
	domain, name, _ := strings.Cut(resource, "/")
	for _, v := range vendors {
		if domain == v.domain && MatchesAny(v.virtual, name) {
			return true
		}
	}
	return false
}

// MatchesAny reports whether a name matches one of the patterns (path.Match).
func MatchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, name)
		return matched
	})
}

// IsMPSServer reports whether an executable is NVIDIA's server that works for MPS clients. Its process has the same type as any other
// process.
func IsMPSServer(executable string) bool { return strings.HasPrefix(executable, "nvidia-cuda-mps") }
