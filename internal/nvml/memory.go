// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func (b *board) readMemory(d *gpu.Device) { d.Memory = b.memory() }

// memory reads a GPU's or an instance's own memory.
//
// Where the driver is too old to tell what it reserves from what is allocated (before 510), usage is both. NOT_SUPPORTED is
// the answer of GPUs that work in the system's memory, such as GB10: that is not theirs, so they have none, and the older
// function is not asked for it.
func (c *caller) memory() (m gpu.Memory) {
	switch {
	case c.shares:
	case c.can(fnMemoryV2):
		answer, ok := c.ask(fnMemoryV2)
		if ok {
			v := filled[gonvml.Memory_v2](answer)
			m.Limit, m.Usage, m.Reserved = byteCount(v.Total), byteCount(v.Used), byteCount(v.Reserved)
		}
		c.shares = answer.code() == codeNotSupported
	case !c.supported(fnMemoryV2) && c.can(fnMemory):
		answer, ok := c.ask(fnMemory)
		if ok {
			v := filled[gonvml.Memory](answer)
			m.Limit, m.Usage = byteCount(v.Total), byteCount(v.Used)
		}
		c.shares = answer.code() == codeNotSupported
	}
	return m
}

// readProtectedMemory reads what is used of the memory that confidential computing protects.
func (b *board) readProtectedMemory(d *gpu.Device) {
	if answer, ok := b.ask(fnProtectedMemory); ok {
		m := filled[gonvml.Memory](answer)
		d.Memory.Protected = known(bytes(m.Used))
		if m.Total == 0 { // there is none, as on a GPU that is not in that mode
			d.Memory.Protected = gpu.Opt[int64]{}
		}
	}
}
