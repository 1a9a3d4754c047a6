// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseProcesses(t *testing.T) {
	t.Parallel()
	list, err := parseRecords([]byte(`[
		{"gpu": 0, "process_list": [
			{"process_info": {"name": "a", "pid": 1, "mem_usage": {"value": 8192, "unit": "B"}}},
			{"process_info": {"name": "b", "pid": 2, "memory_usage": {"vram_mem": {"value": 4096, "unit": "B"}}, "mem_usage": {"value": 99, "unit": "B"}}},
			{"process_info": {"name": "c", "pid": "3", "memory_usage": {"vram_mem": "N/A"}}},
			{"process_info": {"name": "d", "pid": 4, "memory_usage": "N/A", "mem_usage": 17}},
			{"process_info": "No running processes detected"}, {"process_info": {"pid": "N/A"}}, 5]},
		{"gpu": 1, "values": [{"process_info": {"name": "e", "pid": 5, "mem_usage": {"value": 1, "unit": "MB"}}}]},
		{"gpu": 2, "values": {"process_info": "Not Found"}}, {"gpu": 3, "process_list": "N/A"}, {"x": 1}]`))
	require.NoError(t, err)
	processes, covered := parseProcesses(list)
	assert.Equal(t, 4, covered)
	assert.Equal(t, []process{
		{pid: 1, name: "a", memory: gpu.Some[int64](8192), bytes: true},
		{pid: 2, name: "b", memory: gpu.Some[int64](4096), bytes: true},
		{pid: 3, name: "c"},
		{pid: 4, name: "d"},
		{pid: 5, index: 1, name: "e", memory: gpu.Some[int64](1 << 20)},
	}, processes)
}

func TestPlaceProcesses(t *testing.T) {
	t.Parallel()
	m := gpu.Some[int64](4096)
	everywhere := []process{{pid: 1, index: 0, memory: m}, {pid: 1, index: 1, memory: m}, {pid: 2, index: 1, memory: m}, {pid: 1, index: 1, memory: m}}
	leaves := map[int]smidevice.Leaf{0: {ID: "a"}, 1: {ID: "b"}}

	list, repeated := placeProcesses(everywhere, 2, 2, leaves, false)
	assert.Equal(t, 1, repeated)
	require.Len(t, list, 1)
	assert.Equal(t, int64(2), list[0].PID)

	list, repeated = placeProcesses(everywhere, 2, 2, leaves, true)
	assert.Zero(t, repeated)
	assert.Len(t, list, 3, "since ROCm 10 it is where it is listed, once each")

	list, repeated = placeProcesses([]process{{pid: 1, index: 0, memory: m}, {pid: 1, index: 1, memory: gpu.Some[int64](8192)}}, 2, 2, leaves, false)
	assert.Zero(t, repeated, "it differs")
	assert.Len(t, list, 2)

	list, _ = placeProcesses(everywhere[:1], 1, 1, leaves, false)
	assert.Len(t, list, 1, "one GPU")
	list, repeated = placeProcesses(everywhere[:1], 2, 1, leaves, false)
	assert.Equal(t, 1, repeated)
	assert.Empty(t, list, "what is listed under the other GPU was cut off")
	list, _ = placeProcesses(everywhere[:1], 1, 1, nil, false)
	assert.Empty(t, list, "a device that was left out")
}

func TestExecutable(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "python3", executable("/opt/venv/bin/python3 (deleted)"))
	assert.Equal(t, "rvs", executable("rvs"))
	assert.Empty(t, executable("N/A"))
}

// The machine's memory that a process holds counts if the GPU has no memory of its own.
func TestSystemMemoryOfProcesses(t *testing.T) {
	t.Parallel()
	for technology, want := range map[string]gpu.Opt[int64]{
		"LPDDR5": gpu.Some[int64](30 << 30), "DDR5": gpu.Some[int64](30 << 30), "GDDR6": {}, "HBM3": {}, "UNKNOWN": {}, "N/A": {},
	} {
		tool := smitest.StaticTool(map[string]string{
			"version": `[{"amdsmi_library_version": "27.0.0"}]`,
			"list":    `[{"gpu": 0, "bdf": "0000:c4:00.0", "hip_uuid": "GPU-000000000000000c"}]`,
			"static":  `[{"gpu": 0, "vram": {"type": "` + technology + `"}}]`,
			"process": `[{"gpu": 0, "process_list": [{"process_info": {"name": "llama-server", "pid": 77, "memory_usage": {` +
				`"gtt_mem": {"value": 32212254720, "unit": "B"}, "cpu_mem": {"value": 4096, "unit": "B"}, "vram_mem": {"value": 4096, "unit": "B"}},` +
				`"sdma_usage": {"value": 2500000, "unit": "us"}, "evicted_time": {"value": 1500, "unit": "ms"}}}]}]`,
		})
		node := smitest.Read(t, newTestSource(tool))
		require.Len(t, node.Processes, 1, technology)
		p := &node.Processes[0]
		assert.Equal(t, want, p.SystemMemory, technology)
		assert.Equal(t, gpu.Some[int64](4096), p.Memory)
		assert.Equal(t, gpu.Total(2.5), p.SDMATime)
		assert.Equal(t, gpu.Total(1.5), p.EvictedTime)
	}
}

// What a process does not have is absent.
func TestProcessTimesThatAreNotThere(t *testing.T) {
	t.Parallel()
	list, _ := parseProcesses([]record{{"gpu": json.Number("0"), "process_list": smitest.Decoded(t, `[{"process_info": {"pid": 7, "sdma_usage": "N/A"}}]`)}})
	require.Len(t, list, 1)
	assert.False(t, list[0].sdma.Known())
	assert.False(t, list[0].evicted.Known())
	assert.False(t, list[0].system.Known())
}
