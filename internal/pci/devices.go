// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxGroup is how many devices of an IOMMU group are listed. Machines without ACS have large groups: one group for a whole PCIe switch.
const maxGroup = 256

// Devices looks up single devices in sysfs: PCI functions of any kind and vendor, mediated devices and IOMMU groups. Arguments become
// parts of paths: they must have the form of what they name.
type Devices struct{ sys string }

// NewDevices returns a Devices that reads below sys, which is /sys or its mount point.
func NewDevices(sys string) Devices { return Devices{sys: sys} }

// Properties are the properties of a PCI function.
type Properties struct {
	Vendor   uint32
	Class    uint32 // base class, subclass and programming interface
	Driver   string // the kernel driver that the function is bound to; empty if unbound
	Physical string // of a virtual function, the address of the function that it is a part of; otherwise empty
}

// PassedThrough reports whether a function is bound to a driver that hands it to a virtual machine: vfio-pci, a variant of it for one
// model of device, such as nvgrace-gpu-vfio-pci, Xen's pciback, or pci-stub.
func (p *Properties) PassedThrough() bool { return passedThrough(p.Driver) }

func passedThrough(driver string) bool {
	return strings.Contains(driver, "vfio") || driver == "pciback" || driver == "pci-stub"
}

// IsGPU reports whether a function is a GPU or a virtual function of one: a display controller, or AMD's processing accelerators. Other
// vendors' accelerators are not GPUs.
func (p *Properties) IsGPU() bool {
	return p.Class>>16 == 0x03 || (p.Vendor == VendorAMD && p.Class>>8 == 0x1200)
}

// Function reads the properties of the function at an address. The error is fs.ErrNotExist if there is no function.
func (d Devices) Function(address string) (Properties, error) {
	dir := filepath.Join(d.sys, "bus/pci/devices", address)
	vendor, err := readNumber(filepath.Join(dir, "vendor"))
	if err != nil {
		return Properties{}, fmt.Errorf("pci: %w", err)
	}
	class, err := readNumber(filepath.Join(dir, "class"))
	if err != nil {
		return Properties{}, fmt.Errorf("pci: %w", err)
	}
	return Properties{
		Vendor: uint32(vendor), Class: uint32(class), Driver: linkName(filepath.Join(dir, "driver")), Physical: linkName(filepath.Join(dir, "physfn")),
	}, nil
}

// MediatedParent returns the name of the device that a mediated device is a part of: the address of a PCI function, or the name of another
// kind of device. The error is fs.ErrNotExist if there is no such mediated device.
func (d Devices) MediatedParent(uuid string) (string, error) {
	target, err := os.Readlink(filepath.Join(d.sys, "bus/mdev/devices", uuid)) // ../../../devices/<path of the parent>/<uuid>
	if err != nil {
		return "", fmt.Errorf("pci: %w", err)
	}
	return filepath.Base(filepath.Dir(target)), nil
}

// Group returns the names of the devices in an IOMMU group: addresses of PCI functions and UUIDs of mediated devices. The error is
// fs.ErrNotExist if there is no such group.
func (d Devices) Group(number string) ([]string, error) {
	dir, err := os.Open(filepath.Join(d.sys, "kernel/iommu_groups", number, "devices")) //nolint:gosec // below the root of sysfs
	if err != nil {
		return nil, fmt.Errorf("pci: %w", err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(maxGroup)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("pci: %w", err)
	}
	return names, nil
}

// VFIODevice returns the name of the device behind a VFIO device, such as vfio0: the address of a PCI function or the UUID of a mediated
// device; empty if there is no such device.
func (d Devices) VFIODevice(name string) string {
	return linkName(filepath.Join(d.sys, "class/vfio-dev", name, "device"))
}

// DisplayFunction returns the address of the PCI function behind a DRM device, such as card1 or renderD129; empty if it is not a PCI
// function.
func (d Devices) DisplayFunction(name string) string {
	return linkName(filepath.Join(d.sys, "class/drm", name, "device"))
}

// linkName returns the last element of a link's target; empty if there is no link.
func linkName(link string) string {
	target, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}
