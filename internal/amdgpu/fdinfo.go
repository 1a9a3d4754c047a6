// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
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
	amdgpu  bool
	address string // of the GPU's PCI function
	id      uint64
	known   bool // id was there
	memory  uint64
	sized   bool // memory was there: bytes that are in VRAM now
	engines [numEngines]uint64
	used    [numEngines]bool // the driver leaves out engines that were never used
}

// parseFDInfo reads the text of an fdinfo file.
func parseFDInfo(text []byte) client {
	var c client
	resident := false
	for len(text) > 0 {
		var line []byte
		line, text = nextLine(text)
		key, rest, ok := bytes.Cut(line, []byte{':'})
		if !ok || len(key) < 4 {
			continue
		}
		name, engineKey := bytes.CutPrefix(key, []byte("drm-engine-"))
		if engineKey {
			c.addEngine(name, rest)
			continue
		}
		switch string(key) {
		case "drm-driver":
			c.amdgpu = string(bytes.TrimSpace(rest)) == driverName
		case "drm-pdev":
			c.address = string(bytes.TrimSpace(rest))
		case "drm-client-id":
			c.id, c.known = parseUint(rest)
		case "drm-resident-vram":
			if v, ok := parseSize(rest); ok {
				c.memory, c.sized, resident = v, true, true
			}
		case "drm-memory-vram":
			// The older name of the same.
			if v, ok := parseSize(rest); ok && !resident {
				c.memory, c.sized = v, true
			}
		}
	}
	return c
}

func (c *client) addEngine(name, text []byte) {
	var e engine
	switch string(name) {
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
	word, rest := nextField(text)
	ns, ok := parseUint(word)
	if unit, _ := nextField(rest); !ok || string(unit) != "ns" {
		return
	}
	c.engines[e] += ns
	c.used[e] = true
}

// encodes takes what the video engine did for encoding.
func (c *client) encodes() {
	c.engines[engineEncode] += c.engines[engineVideo]
	c.used[engineEncode] = c.used[engineEncode] || c.used[engineVideo]
	c.engines[engineVideo], c.used[engineVideo] = 0, false
}

// parseSize reads "1024 KiB"; without a unit it is bytes.
func parseSize(text []byte) (uint64, bool) {
	word, rest := nextField(text)
	n, ok := parseUint(word)
	if !ok {
		return 0, false
	}
	unit, _ := nextField(rest)
	shift := 0
	switch string(unit) {
	case "":
	case "KiB":
		shift = 10
	case "MiB":
		shift = 20
	case "GiB":
		shift = 30
	default:
		return 0, false
	}
	if n > mostBytes>>shift {
		return 0, false
	}
	return n << shift, true
}
