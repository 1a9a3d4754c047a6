// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

const maxNodes = 1024

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
