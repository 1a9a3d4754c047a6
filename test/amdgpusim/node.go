// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import "fmt"

// MI300XNode is a machine with up to eight MI300X without processes, whole or divided into eight partitions each.
func MI300XNode(gpus int, divided bool) *Machine {
	m := &Machine{Name: "mi300x-node", Driver: "6.12.12", Kernel: "6.8.0-60-generic"}
	build := MI300XSPX
	if divided {
		build = MI300XCPX
	}
	for i := range gpus {
		c := build().Cards[0]
		c.Number = 8 * i
		c.Address = fmt.Sprintf("0000:%02x:00.0", 5+0x10*i)
		c.UniqueID += uint64(i)
		for p := range c.Partitions {
			c.Partitions[p].GPUID = uint32(1000 + 10*i + p)
			if p > 0 {
				c.Partitions[p].XCP, c.Partitions[p].Number = fmt.Sprintf("amdgpu_xcp_%d", 8*i+p), 8*i+p
			}
		}
		m.Cards = append(m.Cards, c)
	}
	return m
}
