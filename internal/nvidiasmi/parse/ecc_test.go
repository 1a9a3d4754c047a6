// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A consumer board without ECC prints 0 in some columns all the same (RTX 4080, driver 595).
func TestTrapZerosOfAGPUWithoutECC(t *testing.T) {
	const names = "uuid, ecc.mode.current, ecc.errors.uncorrected.volatile.total, ecc.errors.uncorrected.volatile.sram, " +
		"ecc.errors.uncorrected.aggregate.sram.thresholdExceeded, ecc.errors.uncorrected.aggregate.sram.l2"
	for _, mode := range []string{"[N/A]", "Disabled", "[Not Supported]"} {
		g := oneRow(t, names, "GPU-1, "+mode+", 0, 0, No, 0")
		assert.Equal(t, gpu.ECC{}, g.Device.ECC, mode)
		assert.Empty(t, g.Device.Errors, mode)
	}
	for _, mode := range []string{"Enabled", "[Unknown Error]", "[Function Not Found]"} {
		g := oneRow(t, names, "GPU-1, "+mode+", 0, 0, No, 0")
		assert.Equal(t, gpu.Some(false), g.Device.ECC.SRAMThresholdExceeded, mode)
		assert.Len(t, g.Device.Errors, 1, mode)
		assert.Len(t, g.Device.ECC.Locations, 1, mode)
	}
}

// The sum of the memories is the count of the GPU, in each of the layouts.
func TestErrorsByMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		volatile   string
		sram, dram int64
	}{
		"Pascal": {"<double_bit><device_memory>4</device_memory><register_file>1</register_file><l1_cache>N/A</l1_cache><l2_cache>2</l2_cache><total>7</total></double_bit>", 3, 4},
		"Turing": {"<sram_uncorrectable>3</sram_uncorrectable><dram_uncorrectable>4</dram_uncorrectable>", 3, 4},
		"Ampere": {"<sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>2</sram_uncorrectable_secded><dram_uncorrectable>4</dram_uncorrectable>", 3, 4},
	} {
		g := oneGPU(t, "<ecc_errors><volatile>"+tt.volatile+"</volatile></ecc_errors>")
		assert.Equal(t, gpu.Total(tt.sram), g.Device.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected], name)
		assert.Equal(t, gpu.Total(tt.dram), g.Device.ECC.Memory[gpu.MemoryDRAM][gpu.ErrorUncorrected], name)
		assert.Equal(t, gpu.Some(float64(tt.sram+tt.dram)), errorsOf(g, gpu.ErrorUncorrected, false), name)
		assert.Empty(t, g.Device.ECC.Locations, name)
	}
}

// Of SRAM, a part that cannot be read makes the sum too small. DRAM is not concerned.
func TestPartOfSRAMCannotBeRead(t *testing.T) {
	g := oneGPU(t, "<ecc_errors><volatile><sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>Unknown Error</sram_uncorrectable_secded>"+
		"<dram_uncorrectable>4</dram_uncorrectable></volatile></ecc_errors>")
	assert.False(t, g.Device.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected].Known())
	assert.Equal(t, gpu.Total[int64](4), g.Device.ECC.Memory[gpu.MemoryDRAM][gpu.ErrorUncorrected])
	assert.Empty(t, g.Device.Errors)

	g = oneGPU(t, "<ecc_errors><volatile><sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>2</sram_uncorrectable_secded>"+
		"<dram_uncorrectable>Unknown Error</dram_uncorrectable></volatile></ecc_errors>")
	assert.Equal(t, gpu.Total[int64](3), g.Device.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected])
	assert.False(t, g.Device.ECC.Memory[gpu.MemoryDRAM][gpu.ErrorUncorrected].Known())

	most := strconv.FormatInt(math.MaxInt64/4*3, 10)
	g = oneGPU(t, "<ecc_errors><volatile><sram_uncorrectable_parity>"+most+"</sram_uncorrectable_parity><sram_uncorrectable_secded>"+most+
		"</sram_uncorrectable_secded></volatile></ecc_errors>")
	assert.False(t, g.Device.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected].Known(), "the sum overflows")
}

func TestBanks(t *testing.T) {
	const names = "uuid, remapped_rows.histogram.max, remapped_rows.histogram.high, remapped_rows.histogram.partial, remapped_rows.histogram.low, remapped_rows.histogram.none"
	some := gpu.Some[int64]
	assert.Equal(t, [gpu.NumSpares]gpu.Opt[int64]{some(639), some(0), some(0), some(0), some(1)}, oneRow(t, names, "GPU-1, 639, 0, 0, 0, 1").Device.MemoryBanks)
	assert.Equal(t, [gpu.NumSpares]gpu.Opt[int64]{}, oneRow(t, names, "GPU-1, 0, 0, 0, 0, 0").Device.MemoryBanks, "it has no banks to count")
	assert.Equal(t, [gpu.NumSpares]gpu.Opt[int64]{}, oneRow(t, names, "GPU-1, [N/A], [N/A], [N/A], [N/A], [N/A]").Device.MemoryBanks)
	g := oneGPU(t, "<remapped_rows><row_remapper_histogram>N/A</row_remapper_histogram></remapped_rows>")
	assert.Equal(t, [gpu.NumSpares]gpu.Opt[int64]{}, g.Device.MemoryBanks)
	assert.Empty(t, g.Refusals)
}

func TestPendingRepairs(t *testing.T) {
	for element, says := range map[string]string{"channel_repair_pending": "memory channel", "tpc_repair_pending": "processing cluster"} {
		g := oneGPU(t, "<ecc_errors><"+element+">Yes</"+element+"></ecc_errors>")
		if assert.Len(t, g.Device.Faults, 1, element) {
			assert.Equal(t, gpu.FaultRemapPending, g.Device.Faults[0].Type)
			assert.Contains(t, g.Device.Faults[0].Message, says)
		}
		for _, word := range []string{"No", "N/A"} {
			assert.Empty(t, oneGPU(t, "<ecc_errors><"+element+">"+word+"</"+element+"></ecc_errors>").Device.Faults)
		}
	}
}
