// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import "strings"

// IsGPUDriver reports whether the devices of a DRA driver are GPUs.
func IsGPUDriver(driver string) bool {
	for _, v := range vendors {
		if driver == v.driver {
			return true
		}
	}
	return others[driver] != ""
}

// IsPassedThrough reports whether a device of a DRA driver is a GPU that a virtual machine has as a whole, so that no source can read it.
func IsPassedThrough(driver, device string) bool {
	return IsGPUDriver(driver) && strings.HasPrefix(device, "gpu-vfio-")
}

// pciAttributes are the attributes of a ResourceSlice that hold a GPU's PCI address.
var pciAttributes = []string{"resource.kubernetes.io/pciBusID", "pciBusID", "pcieBusID", "pciAddr"}

// AttributeKeys returns the keys in the attributes that a DRA driver publishes for a device in a ResourceSlice; nil if they do not identify
// it. The PCI address of a partition is its GPU's, so it counts for whole GPUs only.
func AttributeKeys(attributes map[string]string) []string {
	if uuid := attributes["uuid"]; hasUUIDPrefix(uuid) {
		return []string{idKey(uuid)}
	}
	if kind := attributes["type"]; kind != "" && kind != "gpu" && kind != "amdgpu" {
		return nil
	}
	for _, name := range pciAttributes {
		if address := attributes[name]; isPCIAddress(address) {
			return []string{pciKey(address)}
		}
	}
	return nil
}

// NameKeys returns the keys in the name that a DRA driver gives to a device; nil if the name has another form or is ambiguous. NVIDIA's
// gpu-<n> is numbered by device node, in early releases by index, so it counts if both are the same GPU in the index x.
// AMD's gpu-<card>-<render> has the numbers of the DRM nodes.
// HAMi's hami-gpu-<n> is numbered by device node.
func NameKeys(driver, device string, x *Index) []string {
	if number, ok := strings.CutPrefix(device, "hami-gpu-"); ok && driver == DriverHAMi && isNumber(number) {
		return []string{nvidiaNode + number}
	}
	rest, ok := strings.CutPrefix(device, "gpu-")
	if !ok {
		return nil
	}
	switch driver {
	case DriverNVIDIA:
		if !isNumber(rest) {
			return nil
		}
		node := nvidiaNode + rest
		byNode, byIndex := x.byKey[node], x.byKey[indexKey(rest)]
		if len(byNode) == 1 && len(byIndex) == 1 && byNode[0] != byIndex[0] {
			return nil
		}
		return []string{node}
	case DriverAMD:
		if card, render, ok := strings.Cut(rest, "-"); ok && isNumber(card) && isNumber(render) {
			return []string{"renderD" + render, "card" + card}
		}
	}
	return nil
}

// CDIKey returns the key in the name of a CDI device: the UUID that NVIDIA's device plugin and container toolkit write there
// (nvidia.com/gpu=GPU-…). It is empty for a name without one.
func CDIKey(name string) string {
	_, device, ok := strings.Cut(name, "=")
	if !ok {
		return ""
	}
	for _, prefix := range []string{"GPU-", "MIG-"} {
		if i := strings.Index(device, prefix); i >= 0 && len(device)-i == len(prefix)+len("01234567-89ab-cdef-0123-456789abcdef") {
			return idKey(device[i:])
		}
	}
	return ""
}
