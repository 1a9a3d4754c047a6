// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "slices"

// stranger is a GPU that the kernel's driver has and that is not known by its address.
type stranger struct {
	information
	told bool // the driver says something of it
}

// unknown finds the GPUs that the kernel's driver has and that are not in the node. One that is there without its address is
// told by its UUID.
func (c *census) unknown() (all []stranger) {
	var addresses []string
	for _, f := range c.bus.functions {
		if f.driver == "nvidia" && !slices.Contains(c.seen, f.address) {
			addresses = append(addresses, f.address)
		}
	}
	c.files.ask(c.caller, c.opts.procRoot, addresses)
	for _, address := range addresses {
		info, told := c.files.of(address)
		if c.recognise(info.uuid, address) {
			continue
		}
		info.address = address
		all = append(all, stranger{info, told})
	}
	return all
}

// recognise tells whether the GPU with a UUID is in the node, and takes note of where it is, where that was not known.
func (c *census) recognise(uuid, address string) bool {
	i := c.find(uuid)
	if i < 0 {
		return false
	}
	if i < len(c.seen) {
		if _, there := c.bus.driver(c.seen[i]); !there {
			c.seen[i] = address
		}
	}
	return true
}

// find finds a GPU in the node by its UUID, and returns its place among the GPUs, which is that in seen for those that were
// read before; -1: it is not there.
func (c *census) find(uuid string) int {
	if uuid == "" {
		return -1
	}
	gpus := 0
	for i := range c.node.Devices {
		switch d := &c.node.Devices[i]; {
		case d.Parent != "":
		case d.ID == uuid:
			return gpus
		default:
			gpus++
		}
	}
	return -1
}

// nameless counts the GPUs in the node of which it is not known where they are.
func (c *census) nameless() (n int) {
	for _, address := range c.seen {
		if address == "" {
			n++
		}
	}
	return n
}
