// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

const maxNodes = 1024

// kfdNode is a GPU, or a partition of one, in the topology of the compute driver (KFD).
type kfdNode struct {
	number    uint64 // of the node
	path      string // below the root
	gpuID     uint64
	address   string
	partition int
	drm       []string
	xcp       string // amdgpu_xcp_3; empty for what is the GPU's own DRM device
	target    string // gfx942
	units     uint64 // compute units
	memory    uint64 // bytes of device memory
}

// topology reads the KFD topology when its generation has changed.
func (s *scanner) topology(again bool) {
	base := filepath.Join(s.root, "sys/class/kfd/kfd/topology")
	d, err := openDir(base)
	if err != nil {
		s.nodes, s.nodesErr, s.generation = nil, nil, 0
		return
	}
	defer d.close()
	var generation uint64
	if text, err := d.read("generation_id", s.buf); err == nil {
		generation, _ = parseUint(text)
	}
	// What could not be read may be readable now: who may see which node is no matter of the generation.
	if !again && generation == s.generation && generation != 0 && s.nodesErr == nil {
		return
	}
	s.generation = generation
	s.nodes, s.nodesErr = nil, nil
	nodes, err := d.openBelow("nodes")
	if err != nil {
		s.nodesErr = fmt.Errorf("amdgpu: %s/nodes: %w", base, err)
		return
	}
	defer nodes.close()
	for name, err := range nodes.names(s.list) {
		if err != nil {
			s.nodesErr = fmt.Errorf("amdgpu: %s/nodes: %w", base, err)
			break
		}
		number, ok := parseUint(name)
		if !ok || len(s.nodes) >= maxNodes {
			continue
		}
		if n, err := s.node(nodes, string(name)); err != nil {
			s.nodesErr = fmt.Errorf("amdgpu: %s/nodes/%d: %w; a container needs the GPU's /dev/dri nodes to be allowed for the"+
				" kernel to show it", base, number, err)
		} else if n.gpuID != 0 {
			n.number = number
			n.path = filepath.Join(base, "nodes", string(name))
			s.nodes = append(s.nodes, n)
		}
	}
	s.arrange()
}

// node reads a node; one of a CPU has the gpuID 0.
func (s *scanner) node(nodes *dir, name string) (kfdNode, error) {
	var n kfdNode
	text, err := nodes.read(name+"/gpu_id", s.buf)
	if err != nil {
		return n, err
	}
	n.gpuID, _ = parseUint(text)
	if n.gpuID == 0 {
		return n, nil
	}
	if text, err = nodes.read(name+"/properties", s.buf); err != nil {
		return n, err
	}
	n.parse(text)
	if text, err = nodes.read(name+"/mem_banks/0/properties", s.buf); err == nil && n.memory == 0 {
		n.memory = property(text, "size_in_bytes")
	}
	return n, nil
}

// parse reads the properties. The location is bus<<8 | device<<3 | function, and has the number of the partition in its four
// highest bits, or, in some releases, or'ed into its lowest.
func (n *kfdNode) parse(text []byte) {
	var domain, location, simds, perUnit, minor uint64
	for len(text) > 0 {
		var line []byte
		line, text = nextLine(text)
		key, rest := nextField(line)
		v, ok := parseUint(rest)
		if !ok {
			continue
		}
		switch string(key) {
		case "domain":
			domain = v
		case "location_id":
			location = v
		case "simd_count":
			simds = v
		case "simd_per_cu":
			perUnit = v
		case "drm_render_minor":
			minor = v
		case "local_mem_size":
			n.memory = v
		case "gfx_target_version":
			n.target = gfxTarget(v)
		}
	}
	if perUnit > 0 {
		n.units = simds / perUnit
	}
	if minor > 0 {
		n.drm = []string{"renderD" + strconv.FormatUint(minor, 10)}
	}
	n.partition = int(location >> 28 & 0xf)
	n.address = fmt.Sprintf("%04x:%02x:%02x.%x", domain, location>>8&0xff, location>>3&0x1f, location&0x7)
}

func property(text []byte, name string) uint64 {
	for len(text) > 0 {
		var line []byte
		line, text = nextLine(text)
		key, rest := nextField(line)
		if v, ok := parseUint(rest); ok && string(key) == name {
			return v
		}
	}
	return 0
}

// gfxTarget writes 90402 as the compilers do: gfx942.
func gfxTarget(version uint64) string {
	if version == 0 || version > 999999 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100)
}

// arrange numbers the partitions of each GPU and finds their DRM nodes.
func (s *scanner) arrange() {
	for i := range s.nodes {
		n := &s.nodes[i]
		if !s.isCard(n.address) {
			// The number of the partition is where the function would be.
			if board := n.address[:len(n.address)-1] + "0"; s.isCard(board) {
				n.partition = int(n.address[len(n.address)-1] - '0')
				n.address = board
			}
		}
		for xcp, nodes := range s.xcps {
			if len(n.drm) > 0 && slices.Contains(nodes, n.drm[0]) {
				n.xcp, n.drm = xcp, nodes
			}
		}
	}
	slices.SortFunc(s.nodes, func(a, b kfdNode) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.partition, b.partition), cmp.Compare(a.number, b.number))
	})
	for i := 0; i < len(s.nodes); {
		j := i + 1
		for j < len(s.nodes) && s.nodes[j].address == s.nodes[i].address {
			j++
		}
		enumerate(s.nodes[i:j])
		i = j
	}
}

// enumerate numbers the nodes of a GPU in their order where they do not tell the numbers of their partitions themselves. Where
// they do, these stay: a container may see some of the nodes only.
func enumerate(nodes []kfdNode) {
	for i := range nodes[1:] {
		if nodes[i].partition == nodes[i+1].partition {
			for k := range nodes {
				nodes[k].partition = k
			}
			return
		}
	}
}

func (s *scanner) isCard(address string) bool {
	return slices.ContainsFunc(s.cards, func(c card) bool { return c.address == address })
}

// of returns the nodes of a GPU, by the number of the partition.
func (inv *inventory) of(address string) []kfdNode {
	i, found := slices.BinarySearchFunc(inv.nodes, address, func(n kfdNode, a string) int { return cmp.Compare(n.address, a) })
	if !found {
		return nil
	}
	j := i
	for j < len(inv.nodes) && inv.nodes[j].address == address {
		j++
	}
	return inv.nodes[i:j]
}

// usedMemory reads what of a node's memory is in use, where the driver tells: AMD's own does, the kernel's does not. It goes by the
// path: the driver makes all nodes anew when any GPU comes, goes or is divided.
func (n *kfdNode) usedMemory(buf []byte) (uint64, error) {
	text, err := readBelow(n.path, "mem_banks/0/used_memory", buf)
	if err != nil {
		return 0, err
	}
	v, ok := parseUint(bytes.TrimSpace(text))
	if !ok {
		return 0, errGarbage
	}
	return v, nil
}
