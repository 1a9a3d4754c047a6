// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

const maxDRM = 4096

// scanDRM finds the driver's DRM devices: the devices of cards, which are below their PCI function, and the devices of partitions, which
// are not.
func (s *scanner) scanDRM() {
	names, err := sysfs.Names(s.path("sys/class/drm"), maxDRM)
	s.denied("sys/class/drm", err)
	slices.Sort(names)
	s.cards.xcps = map[string][]string{}
	for _, name := range names {
		if !IsDRMNode(name) {
			continue // connectors, version
		}
		device := s.drmDevice(name)
		dir := filepath.Dir(filepath.Dir(device))
		switch parent := filepath.Base(dir); {
		case device == "":
		case isXCP(parent):
			s.cards.xcps[parent] = append(s.cards.xcps[parent], name)
		case IsPCIAddress(parent) && s.isDriven(name):
			s.addCard(Card{Name: name, Address: parent, Dir: dir, Device: device}, name)
		}
	}
	slices.SortFunc(s.cards.cards, func(a, b Card) int { return strings.Compare(a.Address, b.Address) })
}

// addCard adds a DRM node of a GPU. The first of a GPU's nodes gives the card its name; they come sorted.
func (s *scanner) addCard(c Card, node string) {
	i := slices.IndexFunc(s.cards.cards, func(card Card) bool { return card.Address == c.Address })
	if i < 0 {
		i = len(s.cards.cards)
		c.VideoDecodes = s.videoDecodes(node)
		s.cards.cards = append(s.cards.cards, c)
	}
	s.cards.cards[i].DRM = append(s.cards.cards[i].DRM, node)
}

// denied notes that this process has no permission to look at DRM devices.
func (s *scanner) denied(path string, err error) {
	s.note(err)
	if errors.Is(err, fs.ErrPermission) {
		s.cards.err = fmt.Errorf("amdgpu: %s: %w; allow the collector's user to read it", s.path(path), sysfs.Errno(err))
	}
}

// isDriven reports whether a DRM device is one of the amdgpu driver.
func (s *scanner) isDriven(node string) bool {
	target, err := os.Readlink(s.path("sys/class/drm", node, "device/driver"))
	if err == nil {
		return filepath.Base(target) == DriverName
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.denied("sys/class/drm/"+node+"/device/driver", err)
		return false
	}
	text, err := s.read("sys/class/drm", node, "device/vendor")
	vendor, ok := sysfs.ParseHex(text)
	return err == nil && ok && vendor == pci.VendorAMD
}

// videoDecodes reports whether one engine encodes and decodes. The video block (VCN) is number 12.
func (s *scanner) videoDecodes(node string) bool {
	text, err := s.read("sys/class/drm", node, "device/ip_discovery/die/0/12/0/major")
	version, ok := sysfs.ParseUint(text)
	return err == nil && ok && version >= 4
}

// drmDevice returns the directory of a DRM node, to which the link of the class leads:
// ../../devices/pci0000:00/0000:00:01.1/0000:03:00.0/drm/card1, ../../devices/platform/amdgpu_xcp_3/drm/card4. It is empty if the node is
// not such a link.
func (s *scanner) drmDevice(node string) string {
	target, err := os.Readlink(s.path("sys/class/drm", node))
	s.denied("sys/class/drm/"+node, err)
	if err != nil || filepath.Base(filepath.Dir(target)) != "drm" {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = s.path("sys/class/drm", target)
	}
	return filepath.Clean(target)
}

// isXCP reports whether a device is the platform device of a partition: amdgpu_xcp_3, in earlier kernels such as 6.8 amdgpu_xcp.3.
func isXCP(device string) bool {
	return strings.HasPrefix(device, "amdgpu_xcp_") || strings.HasPrefix(device, "amdgpu_xcp.")
}

// IsDRMNode reports whether a name is the name of a DRM node: card1, renderD128.
func IsDRMNode(name string) bool {
	number, ok := strings.CutPrefix(name, "card")
	if !ok {
		number, ok = strings.CutPrefix(name, "renderD")
	}
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// IsPCIAddress reports whether s has the form 0000:03:00.0.
func IsPCIAddress(s string) bool {
	if len(s) < 12 || s[len(s)-2] != '.' || s[len(s)-5] != ':' || s[len(s)-8] != ':' {
		return false
	}
	for i, c := range s {
		switch {
		case i == len(s)-2 || i == len(s)-5 || i == len(s)-8:
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		default:
			return false
		}
	}
	return true
}
