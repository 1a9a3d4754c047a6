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
)

// vendors are the names under which each vendor's software hands out devices.
var vendors = []struct {
	vendor    gpu.Vendor
	domain    string   // of the device plugins' resources; the DRA drivers' names are below it
	resources []string // patterns (path.Match) of the resources that stand for GPUs, without the domain
	driver    string   // the DRA driver whose devices are GPUs
}{
	{gpu.NVIDIA, "nvidia.com", []string{"gpu", "gpu.*", "mig-*"}, DriverNVIDIA},
	{gpu.AMD, "amd.com", []string{"gpu", "spx*", "dpx*", "tpx*", "qpx*", "cpx*"}, DriverAMD},
}

// VendorOf returns the vendor whose device plugin or DRA driver has a name, by the name's domain (nvidia.com/gpu, gpu.amd.com);
// empty for any other domain.
func VendorOf(name string) gpu.Vendor {
	domain, _, _ := strings.Cut(name, "/")
	for _, v := range vendors {
		if domain == v.domain || strings.HasSuffix(domain, "."+v.domain) {
			return v.vendor
		}
	}
	return ""
}

// IsGPUResource reports whether a resource stands for GPUs, whatever the IDs of its devices look like. The vendors' plugins also
// hand out network interfaces and other devices.
func IsGPUResource(resource string) bool {
	domain, name, _ := strings.Cut(resource, "/")
	for _, v := range vendors {
		if domain == v.domain {
			return slices.ContainsFunc(v.resources, func(pattern string) bool {
				matched, _ := path.Match(pattern, name)
				return matched
			})
		}
	}
	return false
}

// IsMPSServer reports whether an executable is NVIDIA's server that works for MPS clients. The type of its process is that of any other
// process.
func IsMPSServer(executable string) bool { return strings.HasPrefix(executable, "nvidia-cuda-mps") }
