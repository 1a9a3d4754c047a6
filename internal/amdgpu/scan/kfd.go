// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

const maxNodes = 1024

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

// scanKFD reads the KFD topology.
func (s *scanner) scanKFD() {
	base := s.path("sys/class/kfd/kfd/topology")
	if _, err := os.Stat(base); err != nil {
		return // no compute driver
	}
	names, err := sysfs.Names(filepath.Join(base, "nodes"), maxNodes)
	s.note(err)
	if err != nil {
		s.NodesErr = fmt.Errorf("amdgpu: %s/nodes: %w", base, err)
	}
	for _, name := range names {
		number, ok := sysfs.ParseUint(name)
		if !ok {
			continue
		}
		n := Node{number: number, path: filepath.Join(base, "nodes", name)}
		if err := s.readNode(&n); err != nil {
			s.NodesErr = fmt.Errorf("amdgpu: %s: %w; a container needs the GPU's /dev/dri nodes to be allowed for the kernel to"+
				" show it", n.path, err)
		} else if n.GPUID != 0 {
			s.Nodes = append(s.Nodes, n)
		}
	}
	s.arrangeNodes()
}

// readNode reads a node; one of a CPU has the gpu_id 0.
func (s *scanner) readNode(n *Node) error {
	text, err := sysfs.Read(filepath.Join(n.path, "gpu_id"))
	s.note(err)
	if err != nil {
		return err
	}
	if n.GPUID, _ = sysfs.ParseUint(string(text)); n.GPUID == 0 {
		return nil
	}
	if text, err = sysfs.Read(filepath.Join(n.path, "properties")); err != nil {
		s.note(err)
		return err
	}
	n.setProperties(properties(string(text)))
	if text, err = sysfs.Read(filepath.Join(n.path, "mem_banks/0/properties")); err == nil && n.Memory == 0 {
		n.Memory = properties(string(text))["size_in_bytes"]
	}
	s.note(err)
	return nil
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

// arrangeNodes numbers the partitions of each GPU and finds their DRM nodes.
func (s *scanner) arrangeNodes() {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if s.Card(n.Address) == nil {
			// The number of the partition is where the function would be.
			if address := n.Address[:len(n.Address)-1] + "0"; s.Card(address) != nil {
				n.Partition = int(n.Address[len(n.Address)-1] - '0')
				n.Address = address
			}
		}
		for xcp, nodes := range s.xcps {
			if len(n.DRM) > 0 && slices.Contains(nodes, n.DRM[0]) {
				n.XCP, n.DRM = xcp, nodes
			}
		}
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.number, b.number))
	})
	for i := 0; i < len(s.Nodes); {
		nodes := s.NodesOf(s.Nodes[i].Address)
		numberPartitions(nodes)
		i += len(nodes)
	}
}

// numberPartitions numbers the nodes of a GPU in their order unless each has a number of its own. Own numbers stay: a container may
// see only some of the nodes.
func numberPartitions(nodes []Node) {
	for i := range nodes[1:] {
		if nodes[i].Partition == nodes[i+1].Partition {
			for k := range nodes {
				nodes[k].Partition = k
			}
			return
		}
	}
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
