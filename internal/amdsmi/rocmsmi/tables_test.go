// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseTables(t *testing.T) {
	t.Parallel()
	tables := parseTables([]byte(`
======= GPUs Indexed by PID =======
PID 28156 is using 3 DRM device(s):
0 1
2
PID 5 is using 0 DRM device(s)
PID 6 is using 2 DRM device(s):
what
PID -7 is using 1 DRM device(s):
1
====================================
======= RAS Info =======

GPU[0]: 	RAS INFO
         Block       Status    Correctable Error  Uncorrectable Error
           UMC        ENABLED                 31                    2
         ATHUB        ENABLED
           GFX        ENABLED                 -1                    0
           HDP       DISABLED                  x                    0
_____
====== KFD Processes ======
KFD process information:
PID 	PROCESS NAME	GPU(s)	VRAM USED 	SDMA USED	CU OCCUPANCY	
4242	Python 3    	1     	1073741824	0        	76          	
4243	UNKNOWN     	UNKNOWN	UNKNOWN   	UNKNOWN  	UNKNOWN     	
4244	idle        	0     	0         	0        	4294967295  	
what
===========================
4245	late        	0     	0         	0        	4294967295  	
GPU[x]: 	RAS INFO
GPU[1]: 	RAS INFO
           UMC        ENABLED                  0                    4
=====
           UMC        ENABLED                  9                    9
`))
	assert.True(t, tables.cardsRead)
	assert.False(t, tables.complete)
	assert.Equal(t, []process{
		{pid: 4242, name: "Python 3", cards: gpu.Some(1), memory: gpu.Some[int64](1 << 30)},
		{pid: 4243},
		{pid: 4244, name: "idle", cards: gpu.Some(0)},
	}, tables.processes)
	assert.Equal(t, map[int64][]int{28156: {0, 1, 2}, 5: nil, 6: nil}, tables.processCards)
	assert.Equal(t, map[int][]gpu.ErrorCount{
		0: {
			{Type: gpu.ErrorCorrected, Block: "umc", Count: gpu.Total[int64](31)},
			{Type: gpu.ErrorUncorrected, Block: "umc", Count: gpu.Total[int64](2)},
		},
		1: {
			{Type: gpu.ErrorCorrected, Block: "umc", Count: gpu.Total[int64](0)},
			{Type: gpu.ErrorUncorrected, Block: "umc", Count: gpu.Total[int64](4)},
		},
	}, tables.errors)

	none := parseTables([]byte("====== GPUs Indexed by PID ======\nNo KFD PIDs currently running\n======\n=== End of ROCm SMI Log ===\n"))
	assert.True(t, none.cardsRead)
	assert.True(t, none.complete)
	assert.Empty(t, none.processCards)
	assert.False(t, parseTables(nil).cardsRead)
}

// A process can give itself any name, which rocm-smi prints unchanged. OTLP backends refuse a whole message for one byte that is not UTF-8.
func TestNameOfAProcessIsText(t *testing.T) {
	tables := parseTables([]byte("====\nKFD process information:\nPID\tPROCESS NAME\tGPU(s)\tVRAM USED\tSDMA USED\tCU OCCUPANCY\n" +
		"4242\ttr\xff\xfein\t1\t1073741824\t0\t76\n====\n"))
	require.Len(t, tables.processes, 1)
	assert.Equal(t, "tr\uFFFDin", tables.processes[0].name)
}

// A GPU has some twenty blocks that count errors. A tool that prints a million is broken or malicious.
func TestBlocksAreBounded(t *testing.T) {
	var out strings.Builder
	out.WriteString("GPU[0]: \tRAS INFO\n")
	for i := range 100_000 {
		fmt.Fprintf(&out, "B%d ENABLED 1 1\n", i)
	}
	fmt.Fprintf(&out, "GPU[1]: \tRAS INFO\n%s ENABLED 1 1\nUMC ENABLED 1 1\n", strings.Repeat("x", 100_000))
	tables := parseTables([]byte(out.String()))
	assert.Len(t, tables.errors[0], 2*smidevice.MaxBlocks)
	for _, e := range tables.errors[1] {
		assert.LessOrEqual(t, len(e.Block), 256)
	}
}
