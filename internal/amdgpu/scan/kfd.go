// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"os"
	"path/filepath"

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
		s.topology.err = fmt.Errorf("amdgpu: %s/nodes: %w", base, err)
	}
	for _, name := range names {
		number, ok := sysfs.ParseUint(name)
		if !ok {
			continue
		}
		n := Node{number: number, path: filepath.Join(base, "nodes", name)}
		if err := s.readNode(&n); err != nil {
			s.topology.err = fmt.Errorf("amdgpu: %s: %w; in a container, allow the GPU's device nodes in /dev/dri: "+
				"without them the kernel hides this part of the topology", n.path, err)
		} else if n.GPUID != 0 {
			s.topology.nodes = append(s.topology.nodes, n)
		}
	}
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
