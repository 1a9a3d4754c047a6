// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

// Node is a GPU, or a partition of one, in the topology of the compute driver (KFD).
type Node struct {
	GPUID     uint64 // gpu_id, by which KFD names it to processes
	Address   string // of the GPU's PCI function
	Partition int
	DRM       []string // its DRM nodes
	XCP       string   // its platform device, amdgpu_xcp_3; empty for the GPU's own DRM device
	Target    string   // gfx942
	Units     uint64   // compute units
	Memory    uint64   // bytes of device memory

	number uint64 // of the node in the topology
	path   string
}

// properties parses lines of a name and a number.
func properties(text string) map[string]uint64 {
	result := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if v, ok := sysfs.ParseUint(number); ok {
			result[name] = v
		}
	}
	return result
}

// setProperties takes over a node's properties. The location is bus<<8 | device<<3 | function, and has the number of the partition
// in its four highest bits or, in some releases, or'ed into its lowest.
func (n *Node) setProperties(p map[string]uint64) {
	n.Target = gfxTarget(p["gfx_target_version"])
	n.Memory = p["local_mem_size"]
	if perUnit := p["simd_per_cu"]; perUnit > 0 {
		n.Units = p["simd_count"] / perUnit
	}
	if minor := p["drm_render_minor"]; minor > 0 {
		n.DRM = []string{"renderD" + strconv.FormatUint(minor, 10)}
	}
	location := p["location_id"]
	n.Partition = int(location >> 28 & 0xf)
	n.Address = fmt.Sprintf("%04x:%02x:%02x.%x", p["domain"], location>>8&0xff, location>>3&0x1f, location&0x7)
}

// gfxTarget formats 90402 as compilers do: gfx942.
func gfxTarget(version uint64) string {
	if version == 0 || version > 999999 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100)
}

// UsedMemory reads how much of a node's memory is in use, in bytes. Only AMD's own driver has the file. The error is
// sysfs.ErrFormat or the kernel's answer.
func (n *Node) UsedMemory() (uint64, error) {
	text, err := sysfs.Read(filepath.Join(n.path, "mem_banks/0/used_memory"))
	if err != nil {
		return 0, err
	}
	v, ok := sysfs.ParseUint(string(text))
	if !ok {
		return 0, sysfs.ErrFormat
	}
	return v, nil
}
