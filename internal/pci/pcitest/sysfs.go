// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package pcitest makes the files and links of sysfs that show PCI functions, mediated devices and IOMMU groups.
package pcitest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sysfs is a directory like /sys.
type Sysfs struct {
	t    testing.TB
	Root string
}

// New returns an empty Sysfs below a directory.
func New(t testing.TB, root string) *Sysfs {
	t.Helper()
	return &Sysfs{t: t, Root: root}
}

// Function adds a PCI function. If driver is empty, the function is unbound.
func (s *Sysfs) Function(address, vendor, class, driver string) {
	s.t.Helper()
	dir := s.function(address)
	s.file(filepath.Join(dir, "vendor"), vendor)
	s.file(filepath.Join(dir, "class"), class)
	if driver != "" {
		s.link(filepath.Join(dir, "driver"), "../../../../bus/pci/drivers/"+driver)
	}
	s.link(filepath.Join(s.Root, "bus/pci/devices", address), "../../../devices/pci0000:00/"+address)
}

// Virtual makes a function a virtual one of another.
func (s *Sysfs) Virtual(address, physical string) {
	s.t.Helper()
	s.link(filepath.Join(s.function(address), "physfn"), "../"+physical)
}

// Mediated adds a mediated device below the device with a name: the address of a PCI function, or another.
func (s *Sysfs) Mediated(uuid, parent string) {
	s.t.Helper()
	s.link(filepath.Join(s.Root, "bus/mdev/devices", uuid), "../../../devices/pci0000:00/"+parent+"/"+uuid)
}

// Group adds an IOMMU group with devices.
func (s *Sysfs) Group(number string, devices ...string) {
	s.t.Helper()
	for _, name := range devices {
		s.link(filepath.Join(s.Root, "kernel/iommu_groups", number, "devices", name), "../../../../devices/"+name)
	}
}

// DRM adds a DRM device of a PCI function.
func (s *Sysfs) DRM(name, address string) {
	s.t.Helper()
	s.link(filepath.Join(s.function(address), "drm", name, "device"), "../../../"+address)
	s.link(filepath.Join(s.Root, "class/drm", name), "../../devices/pci0000:00/"+address+"/drm/"+name)
}

// VFIO adds a VFIO device of a PCI function.
func (s *Sysfs) VFIO(name, address string) {
	s.t.Helper()
	s.link(filepath.Join(s.function(address), "vfio-dev", name, "device"), "../../../"+address)
	s.link(filepath.Join(s.Root, "class/vfio-dev", name), "../../devices/pci0000:00/"+address+"/vfio-dev/"+name)
}

func (s *Sysfs) function(address string) string {
	return filepath.Join(s.Root, "devices/pci0000:00", address)
}

func (s *Sysfs) file(path, text string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(s.t, os.WriteFile(path, []byte(text+"\n"), 0o600))
}

func (s *Sysfs) link(path, target string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(s.t, os.Symlink(target, path))
}
