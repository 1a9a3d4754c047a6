// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

// engine is what the DRM driver counts the time of.
type engine uint8

const (
	engineGFX engine = iota
	engineCompute
	engineDecode
	engineEncode
	engineJPEG
	engineVideo // called enc, which from version 4 of VCN on decodes too
	numEngines
)

// client is one open file of a DRM device, as its fdinfo describes it (Documentation/gpu/drm-usage-stats.rst). Duplicates of
// a file, in the same process or in another, are the same client.
type client struct {
	amdgpu      bool
	address     string // of the GPU's PCI function
	id          uint64
	idKnown     bool
	memory      uint64 // bytes that are in VRAM now
	memoryKnown bool
	system      uint64 // bytes of system memory that the GPU may access now (GTT)
	systemKnown bool
	engines     [numEngines]uint64 // ns
	used        [numEngines]bool   // the driver leaves out engines that were never used
	untimed     bool               // the kernel does not report the times of engines
}

// parseFDInfo parses the text of an fdinfo file.
func parseFDInfo(text string) client {
	var c client
	var legacy legacyClient
	resident, systemResident, drm := false, false, false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		if name, ok := strings.CutPrefix(key, "drm-engine-"); ok {
			c.addEngine(name, value)
			continue
		}
		switch key {
		case "vram mem", "gtt mem", "pdev", "pasid":
			legacy.add(key, value)
		case "drm-driver":
			drm = true
			c.amdgpu = strings.TrimSpace(value) == scan.DriverName
		case "drm-pdev":
			c.address = strings.TrimSpace(value)
		case "drm-client-id":
			c.id, c.idKnown = sysfs.ParseUint(value)
		case "drm-resident-vram":
			if v, ok := parseSize(value); ok {
				c.memory, c.memoryKnown, resident = v, true, true
			}
		case "drm-memory-vram":
			// The older name of the same.
			if v, ok := parseSize(value); ok && !resident {
				c.memory, c.memoryKnown = v, true
			}
		case "drm-resident-gtt":
			if v, ok := parseSize(value); ok {
				c.system, c.systemKnown, systemResident = v, true, true
			}
		case "drm-memory-gtt":
			if v, ok := parseSize(value); ok && !systemResident {
				c.system, c.systemKnown = v, true
			}
		}
	}
	if legacy.memoryKnown && !drm {
		return legacy.client()
	}
	return c
}

// legacyClient is a client as the kernels 5.14 to 5.18 describe it, which have no drm- keys. Their percentages of engines are of the
// client's whole life and are not used.
type legacyClient struct {
	address     string
	pasid       uint64 // the client's address space, one for each open file
	memory      uint64 // bytes
	memoryKnown bool
	system      uint64 // bytes
	systemKnown bool
}

func (l *legacyClient) add(key, value string) {
	switch key {
	case "pdev":
		l.address = strings.TrimSpace(value)
	case "pasid":
		l.pasid, _ = sysfs.ParseUint(value)
	case "gtt mem":
		l.system, l.systemKnown = parseSize(value)
	default:
		l.memory, l.memoryKnown = parseSize(value)
	}
}

func (l *legacyClient) client() client {
	return client{
		amdgpu: true, address: l.address, id: l.pasid, idKnown: l.pasid > 0, memory: l.memory, memoryKnown: true,
		system: l.system, systemKnown: l.systemKnown, untimed: true,
	}
}

func (c *client) addEngine(name, value string) {
	var e engine
	switch name {
	case "gfx":
		e = engineGFX
	case "compute":
		e = engineCompute
	case "dec":
		e = engineDecode
	case "enc": // of VCE and VCN
		e = engineVideo
	case "enc_1": // of UVD
		e = engineEncode
	case "jpeg":
		e = engineJPEG
	default:
		return // dma, capacities of engines
	}
	number, unit := splitUnit(value)
	ns, ok := sysfs.ParseUint(number)
	if !ok || unit != "ns" {
		return
	}
	c.engines[e] += ns
	c.used[e] = true
}

// encodes counts the time of the video engine as time of encoding.
func (c *client) encodes() {
	c.engines[engineEncode] += c.engines[engineVideo]
	c.used[engineEncode] = c.used[engineEncode] || c.used[engineVideo]
	c.engines[engineVideo], c.used[engineVideo] = 0, false
}

// parseSize parses "1024 KiB"; without a unit it is bytes.
func parseSize(text string) (uint64, bool) {
	number, unit := splitUnit(text)
	n, ok := sysfs.ParseUint(number)
	if !ok {
		return 0, false
	}
	shift := 0
	switch unit {
	case "":
	case "KiB", "kB":
		shift = 10
	case "MiB":
		shift = 20
	case "GiB":
		shift = 30
	default:
		return 0, false
	}
	if n > plausible.MostBytes>>shift {
		return 0, false
	}
	return n << shift, true
}

// splitUnit splits a number from its unit, which may be missing.
func splitUnit(text string) (number, unit string) {
	number, unit, _ = strings.Cut(strings.TrimSpace(text), " ")
	return number, strings.TrimSpace(unit)
}
