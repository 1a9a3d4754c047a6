// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// The drivers of dynamic resource allocation whose devices are GPUs, by whatever name.
const (
	driverNVIDIA = "gpu.nvidia.com"
	driverAMD    = "gpu.amd.com"
)

// dynamicResolver tells which device is meant by a driver's name for it.
type dynamicResolver struct {
	cdi    *cdi.Registry
	slices *kube.Slices // nil where the API may not be read
}

// resolve returns the keys of the devices that a claim was given; none where they cannot be told. It asks in turn: the
// names of the CDI devices and the device nodes that they put into the container, which is exact and needs no API; the
// driver's ResourceSlice; the name itself, where its form is known.
func (r *dynamicResolver) resolve(d *podresources.Dynamic, index *deviceIndex) []string {
	var keys []string
	for _, name := range d.CDI {
		if uuid := cdi.UUID(name); uuid != "" {
			keys = append(keys, strings.ToLower(uuid))
			continue
		}
		keys = append(keys, r.cdi.Device(name)...)
	}
	if len(keys) > 0 {
		return keys
	}
	if d.Driver != driverNVIDIA && d.Driver != driverAMD {
		return nil
	}
	if r.slices != nil {
		r.slices.Want()
		if keys := sliceKeys(r.slices.Device(d.Driver, d.Pool, d.Device)); keys != nil {
			return keys
		}
	}
	return nameKeys(d, index)
}

// sliceKeys reads the attributes that the drivers publish. The PCI address of a partition is that of its GPU, so it only
// counts for a whole one.
func sliceKeys(attributes map[string]string) []string {
	if uuid := attributes["uuid"]; strings.HasPrefix(uuid, "GPU-") || strings.HasPrefix(uuid, "MIG-") {
		return []string{strings.ToLower(uuid)}
	}
	if kind := attributes["type"]; kind != "" && kind != "gpu" && kind != "amdgpu" {
		return nil
	}
	for _, name := range []string{"resource.kubernetes.io/pciBusID", "pciBusID", "pcieBusID", "pciAddr"} {
		if address := attributes[name]; isPCIAddress(address) {
			return []string{pciKey(address)}
		}
	}
	return nil
}

// nameKeys reads a device's name. NVIDIA's gpu-<n> is numbered by device node, in early releases by index; where these
// differ it is not told. AMD's gpu-<card>-<render> are the numbers of the DRM nodes.
func nameKeys(d *podresources.Dynamic, index *deviceIndex) []string {
	rest, ok := strings.CutPrefix(d.Device, "gpu-")
	if !ok {
		return nil
	}
	switch d.Driver {
	case driverNVIDIA:
		if !isNumber(rest) {
			return nil
		}
		byNode, byIndex := index.byKey["nvidia"+rest], index.byKey[indexKey(rest)]
		if len(byNode) == 1 && len(byIndex) == 1 && byNode[0] != byIndex[0] {
			return nil
		}
		return []string{"nvidia" + rest}
	case driverAMD:
		if card, render, ok := strings.Cut(rest, "-"); ok && isNumber(card) && isNumber(render) {
			return []string{"renderD" + render, "card" + card}
		}
	}
	return nil
}

// isGPUDriver tells whether all devices of a driver are GPUs that are to be found among those that were read.
func isGPUDriver(d *podresources.Dynamic) bool {
	return (d.Driver == driverNVIDIA || d.Driver == driverAMD) && !strings.HasPrefix(d.Device, "gpu-vfio-")
}
