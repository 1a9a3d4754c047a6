// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// mi300a returns a machine with an MI300A, for which the DRM driver reports 0 bytes of VRAM (gmc_v9_0_mc_init in gmc_v9_0.c).
func mi300a(build func() *amdgpusim.Machine, used int64) *amdgpusim.Machine {
	m := build()
	m.Cards = m.Cards[:1]
	m.Processes = nil
	c := m.Cards[0]
	c.Device, c.IsAPU = 0x74a0, true
	r := &c.Readings
	r.VRAM, r.VRAMUsed, r.Visible, r.VisibleUsed = 0, 0, 0, 0
	r.GTT, r.GTTUsed = 128<<30, 5<<30
	for i := range c.Partitions {
		c.Partitions[i].Memory = 96 << 30
		if c.Partitions[i].Used = used; used != amdgpusim.None {
			c.Partitions[i].Used = used * int64(i+1)
		}
	}
	return m
}

// TestUnifiedMemory: the memory of an MI300A is what the compute driver reports, not the 0 of the DRM driver.
func TestUnifiedMemory(t *testing.T) {
	var none gpu.Opt[int64]
	for name, tt := range map[string]struct {
		machine      *amdgpusim.Machine
		limit, usage gpu.Opt[int64]
	}{
		"whole": {mi300a(amdgpusim.MI300XSPX, 3<<30), gpu.Some[int64](96 << 30), gpu.Some[int64](3 << 30)},
		"whole, the kernel's own driver": {
			mi300a(amdgpusim.MI300XSPX, amdgpusim.None), gpu.Some[int64](96 << 30), none,
		},
		"divided":           {mi300a(amdgpusim.MI300XCPX, 1<<30), gpu.Some[int64](8 * 96 << 30), gpu.Some[int64](36 << 30)},
		"divided, repeated": {repeated(mi300a(amdgpusim.MI300XCPX, 1<<30), 4<<30), gpu.Some[int64](8 * 96 << 30), none},
	} {
		t.Run(name, func(t *testing.T) {
			_, source, _ := simulate(t, tt.machine, gpu.GroupMemory)
			m := &read(t, source).Devices[0].Memory
			assert.Equal(t, tt.limit, m.Limit)
			assert.Equal(t, tt.usage, m.Usage)
			assert.False(t, m.VisibleLimit.Known())
			assert.False(t, m.VisibleUsage.Known())
			assert.Equal(t, gpu.Some[int64](5<<30), m.SystemUsage)
		})
	}
}

// TestUnifiedMemoryInPart: the GPU's memory is absent if the compute driver does not show all partitions.
func TestUnifiedMemoryInPart(t *testing.T) {
	m := mi300a(amdgpusim.MI300XCPX, 1<<30)
	tree, source, _ := simulate(t, m, withoutProcesses)
	show := hide(t, tree, 8, 0, 1, 2)
	memory := read(t, source).Devices[0].Memory
	show()
	assert.False(t, memory.Limit.Known())
	assert.False(t, memory.Usage.Known())

	m.Cards[0].Partitions, m.Cards[0].GPUID = nil, 0
	_, source, _ = simulate(t, m, gpu.GroupMemory)
	memory = read(t, source).Devices[0].Memory
	assert.False(t, memory.Limit.Known())
	assert.False(t, memory.Usage.Known())
}
