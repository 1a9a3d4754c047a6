// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

// HostDevices finds in sysfs to which GPU a device belongs. The IDs are the kernel's names, mostly for virtual machines:
//
//   - a PCI function by its address: a GPU, or a virtual function of one (SR-IOV), which AMD's GPUs and NVIDIA's since Ada Lovelace use
//     for vGPUs. NVIDIA's virtual functions stay bound to its own driver, with their type in nvidia/current_vgpu_type.
//   - a mediated device (mdev) by its UUID: NVIDIA's vGPUs before. Its parent is the GPU, or a virtual function of it (Ampere).
//   - an IOMMU group by its number, or a VFIO device by its name (vfio0), with any of both.
//
// Nothing is kept from read to read: each lookup is a few links and files of sysfs, which are in memory.
type HostDevices struct{ devices pci.Devices }

// NewHostDevices returns a HostDevices that reads below sys, which is /sys or its mount point.
func NewHostDevices(sys string) *HostDevices { return &HostDevices{pci.NewDevices(sys)} }

// HostDevice is what sysfs shows of a device.
type HostDevice struct {
	IsGPU  bool
	Vendor gpu.Vendor // of the GPU; empty if no source reads GPUs of the vendor
	Key    string     // finds the GPU in an Index
	// Virtual reports that the device is one of the virtual GPUs of the GPU.
	Virtual bool
	// Foreign reports that the GPU is bound to another driver than the one that sources read it by, such as vfio-pci, which passes it to a
	// virtual machine, or AMD's gim, which divides it among them.
	Foreign bool
}

// Find returns what sysfs shows of the device that a device plugin's ID names. groups reports that a bare number is the number of an IOMMU
// group: other plugins number devices from 0. The zero HostDevice is a missing device, a device that is not a GPU, or an ID of another
// form. An error means that sysfs could not be read, and so nothing is known.
func (h *HostDevices) Find(id string, groups bool) (HostDevice, error) {
	var device HostDevice
	var err error
	switch {
	case isPCIAddress(id):
		device, err = h.function(strings.TrimPrefix(pciKey(id), pciPrefix))
	case isUUID(id):
		device, err = h.mediated(strings.ToLower(id))
	case groups && isNumber(id):
		device, err = h.group(id)
	case hasNumber(id, "vfio"):
		if name := h.devices.VFIODevice(id); !hasNumber(name, "vfio") {
			return h.Find(name, false)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return device, err
}

// FindNode is Find for a DRM device node, such as card1 or renderD128.
func (h *HostDevices) FindNode(name string) (HostDevice, error) {
	address := ""
	if hasNumber(name, "card") || hasNumber(name, "renderD") {
		address = h.devices.DisplayFunction(name)
	}
	return h.Find(address, false)
}

func (h *HostDevices) function(address string) (HostDevice, error) {
	p, err := h.devices.Function(address)
	if err != nil || !p.IsGPU() {
		return HostDevice{}, err
	}
	d := HostDevice{IsGPU: true, Key: pciKey(address)}
	if isPCIAddress(p.Physical) {
		d.Key, d.Virtual = pciKey(p.Physical), true
		if p, err = h.devices.Function(p.Physical); err != nil {
			return HostDevice{}, err
		}
	}
	read := readDrivers[p.Vendor]
	d.Vendor, d.Foreign = read.vendor, p.Driver != "" && p.Driver != read.driver
	return d, nil
}

func (h *HostDevices) mediated(uuid string) (HostDevice, error) {
	parent, err := h.devices.MediatedParent(uuid)
	if err != nil || !isPCIAddress(parent) {
		return HostDevice{}, err
	}
	d, err := h.function(parent)
	d.Virtual = d.IsGPU
	return d, err
}

// group returns the GPU in an IOMMU group that a virtual machine can have: a virtual one, or one that is bound to VFIO. A group with a GPU
// that the host uses is not a device of a container, so the number means something else.
func (h *HostDevices) group(number string) (HostDevice, error) {
	names, err := h.devices.Group(number)
	if err != nil {
		return HostDevice{}, err
	}
	for _, name := range names {
		d, err := h.Find(name, false)
		if err != nil || d.Virtual {
			return d, err
		}
		if !d.IsGPU {
			continue
		}
		if p, err := h.devices.Function(name); err != nil || p.PassedThrough() {
			return d, err
		}
	}
	return HostDevice{}, nil
}

// readDrivers are the vendors of the GPUs that sources read, and the kernel drivers by which they do, by the vendors' numbers on the bus.
var readDrivers = map[uint32]struct {
	vendor gpu.Vendor
	driver string
}{
	pci.VendorNVIDIA: {gpu.NVIDIA, "nvidia"},
	pci.VendorAMD:    {gpu.AMD, "amdgpu"},
}
