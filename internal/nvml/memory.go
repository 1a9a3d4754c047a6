// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func (b *board) readMemory(d *gpu.Device) { d.Memory = b.memory(b.handle) }

// memory reads a GPU's or an instance's own memory.
//
// Where the driver is too old to tell what it reserves from what is allocated (before 510), usage is both. NOT_SUPPORTED is
// the answer of GPUs that work in the system's memory, such as GB10: that is not theirs, so they have none, and the older
// function is not asked for it.
func (c *calls) memory(handle gonvml.Device) (m gpu.Memory) {
	c.memoryAsked = true
	switch {
	case c.shares:
	case c.can(fnMemoryV2):
		v, ret := handle.GetMemoryInfo_v2()
		if c.ok(fnMemoryV2, code(ret)) {
			m.Limit, m.Usage, m.Reserved = byteCount(v.Total), byteCount(v.Used), byteCount(v.Reserved)
		}
		c.shares = code(ret) == codeNotSupported
	case !c.supported(fnMemoryV2) && c.can(fnMemory):
		v, ret := handle.GetMemoryInfo()
		if c.ok(fnMemory, code(ret)) {
			m.Limit, m.Usage = byteCount(v.Total), byteCount(v.Used)
		}
		c.shares = code(ret) == codeNotSupported
	}
	return m
}

// readProtectedMemory reads what is used of the memory that confidential computing protects.
func (b *board) readProtectedMemory(d *gpu.Device) {
	if !b.can(fnProtectedMemory) {
		return
	}
	if m, ret := b.handle.GetConfComputeProtectedMemoryUsage(); b.ok(fnProtectedMemory, code(ret)) {
		d.Memory.Protected = known(bytes(m.Used))
		if m.Total == 0 { // there is none, as on a GPU that is not in that mode
			d.Memory.Protected = gpu.Opt[int64]{}
		}
	}
}
