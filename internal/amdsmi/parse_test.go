// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseROCm(t *testing.T) {
	t.Parallel()
	const noise = "\nWARNING: AMD GPU device(s) is/are in a low-power state. {Check} power control/runtime_status\nExpected integer value from monitor, but got \"\"\n"
	out, err := parseROCm([]byte(noise + `{"card10": {"A:": "1", "b": "x: y"}, "card2": {}, "system": {"Driver version": "6.3.6"}, "other": 1}` + "\ntrailing {"))
	require.NoError(t, err)
	assert.True(t, out.lowPower)
	require.Len(t, out.cards, 2)
	assert.Equal(t, 2, out.cards[0].index, "in the order of their numbers")
	assert.Equal(t, 10, out.cards[1].index)
	assert.Equal(t, map[string]string{"a": "1", "b": "x: y"}, out.cards[1].values)
	assert.Equal(t, map[string]string{"Driver version": "6.3.6"}, out.system)

	for in, want := range map[string]string{
		"":                             "output is not JSON: there is none",
		" \n":                          "output is not JSON: there is none",
		"{":                            "output is not JSON",
		"GPU[0] : 5\n":                 `output is not JSON: it begins with "GPU[0] : 5"`,
		`{"card0"`:                     "output ends in the middle",
		`{"card0": {"a": "1"}`:         "output ends in the middle",
		`{"card0": {"a": "1"}, `:       "output ends in the middle",
		`{"card0": {"a": "1"}, 7: {}}`: "output ends in the middle",
		`{"card0": {"a": "1"}]`:        "output ends in the middle",
	} {
		_, err = parseROCm([]byte(in))
		require.ErrorContains(t, err, want, in)
	}
	var many strings.Builder
	many.WriteString("{")
	for i := range maxDevices + 10 {
		many.WriteString(`"card` + strconv.Itoa(i) + `": {}, "card1": {}, `)
	}
	out, err = parseROCm([]byte(many.String() + `"card2": {}}`))
	require.NoError(t, err)
	assert.Len(t, out.cards, maxDevices)
}

func TestParseROCmTables(t *testing.T) {
	t.Parallel()
	tables := parseROCmTables([]byte(`
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
	assert.Equal(t, []rocmProcess{
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

	none := parseROCmTables([]byte("====== GPUs Indexed by PID ======\nNo KFD PIDs currently running\n======\n=== End of ROCm SMI Log ===\n"))
	assert.True(t, none.cardsRead)
	assert.True(t, none.complete)
	assert.Empty(t, none.processCards)
	assert.False(t, parseROCmTables(nil).cardsRead)
}

func TestParseAMDEnvelopes(t *testing.T) {
	t.Parallel()
	const warnings = "WARNING: User is missing the following required groups: render, video. Please add user to these groups.\n" +
		"[amd-smi] {note} GPU[0]\n"
	for name, in := range map[string]string{
		"list":                   `[{"gpu": 0}, {"gpu": 1}]`,
		"gpu_data":               `{"gpu_data": [{"gpu": 0}, {"gpu": 1}]}`,
		"gpu_data among others":  `{"cpu_data": [{"cpu": 0}], "core_data": [], "gpu_data": [{"gpu": 0}, {"gpu": 1}], "nic_data": null}`,
		"lists in a list":        `{"xgmi_metric": [[{"gpu": 0}], [[{"gpu": 1}]]]}`,
		"warnings before, after": warnings + `[{"gpu": 0}, {"gpu": 1}]` + "\n[{\"gpu\": 0}]\nbye",
		"what is no record":      `[{"gpu": 0}, null, 7, "N/A", {"gpu": 1}]`,
	} {
		list, err := parseAMD([]byte(in))
		require.NoError(t, err, name)
		require.Len(t, list, 2, name)
		for i, r := range list {
			n, ok := r.integer("gpu")
			assert.True(t, ok, name)
			assert.Equal(t, i, n, name)
		}
	}
	list, err := parseAMD([]byte(`{"gpu": 4, "bdf": "x"}`))
	require.NoError(t, err)
	require.Len(t, list, 1)
	for _, in := range []string{`[]`, `{}`, `{"gpu_data": []}`, `{"gpu_data": "N/A"}`, `{"gpu_data": null}`, `[[[[[[[{"gpu": 0}]]]]]]]`} {
		list, err = parseAMD([]byte(in))
		require.NoError(t, err, in)
		assert.Empty(t, list, in)
	}
	_, err = parseAMD([]byte(`{"error": "Parameter '-e' is invalid. Run '--help' for more info.", "code": -2}`))
	var refused *toolError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, []string{"-e", "--help"}, quoted(refused.message))

	for in, want := range map[string]struct {
		records int
		err     string
	}{
		`[{"gpu": 0}, {"gpu"`:             {1, "output ends in the middle"},
		`[{"gpu": 0}`:                     {1, "output ends in the middle"},
		`{"gpu_data": [{"gpu": 0}, {"g`:   {1, "output ends in the middle"},
		`{"gpu_data": [{"gpu": 0}]`:       {1, "output ends in the middle"},
		`{"gpu": 0`:                       {0, "output ends in the middle"},
		`[{"gpu": 0}}`:                    {1, "output ends in the middle"},
		`[`:                               {0, "output is not JSON"},
		"":                                {0, "output is not JSON: there is none"},
		"GPU: 0\n    USAGE: [1 %, N/A]\n": {0, `output is not JSON: it begins with "GPU: 0 USAGE`},
	} {
		list, err = parseAMD([]byte(in))
		require.ErrorContains(t, err, want.err, in)
		assert.Len(t, list, want.records, in)
	}
}

func TestRecordAccess(t *testing.T) {
	t.Parallel()
	list, err := parseAMD([]byte(`[{"a": {"b": {"c": 1}, "s": "N/A"}, "n": null, "q": {"value": "N/A", "unit": "W"}, "r": {"value": 2, "unit": "W"}, "t": "x"}]`))
	require.NoError(t, err)
	r := list[0]
	assert.NotNil(t, r.at("a", "b", "c"))
	assert.Nil(t, r.at("a", "s", "c"))
	assert.Nil(t, r.at("n", "c"))
	assert.Nil(t, r.section("a", "s"))
	assert.Empty(t, r.section("nothing").text("x"))
	requireNear(t, 2, quantity(r.first("n", "q", "r"), watts, ""), "the first with a value")
	assert.Equal(t, "x", r.text("a", "t"), "a section is no text")
	_, ok := r.integer("t")
	assert.False(t, ok)
}

func TestParseProcesses(t *testing.T) {
	t.Parallel()
	list, err := parseAMD([]byte(`[
		{"gpu": 0, "process_list": [
			{"process_info": {"name": "a", "pid": 1, "mem_usage": {"value": 8192, "unit": "B"}}},
			{"process_info": {"name": "b", "pid": 2, "memory_usage": {"vram_mem": {"value": 4096, "unit": "B"}}, "mem_usage": {"value": 99, "unit": "B"}}},
			{"process_info": {"name": "c", "pid": "3", "memory_usage": {"vram_mem": "N/A"}}},
			{"process_info": {"name": "d", "pid": 4, "memory_usage": "N/A", "mem_usage": 17}},
			{"process_info": "No running processes detected"}, {"process_info": {"pid": "N/A"}}, 5]},
		{"gpu": 1, "values": [{"process_info": {"name": "e", "pid": 5, "mem_usage": {"value": 1, "unit": "MB"}}}]},
		{"gpu": 2, "values": {"process_info": "Not Found"}}, {"gpu": 3, "process_list": "N/A"}, {"x": 1}]`))
	require.NoError(t, err)
	processes, told := parseProcesses(list)
	assert.Equal(t, 4, told)
	assert.Equal(t, []amdProcess{
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
	everywhere := []amdProcess{{pid: 1, index: 0, memory: m}, {pid: 1, index: 1, memory: m}, {pid: 2, index: 1, memory: m}, {pid: 1, index: 1, memory: m}}
	leaves := map[int]leaf{0: {id: "a"}, 1: {id: "b"}}

	list, repeated := placeProcesses(everywhere, 2, 2, leaves, false)
	assert.Equal(t, 1, repeated)
	require.Len(t, list, 1)
	assert.Equal(t, int64(2), list[0].PID)

	list, repeated = placeProcesses(everywhere, 2, 2, leaves, true)
	assert.Zero(t, repeated)
	assert.Len(t, list, 3, "since ROCm 10 it is where it is listed, once each")

	list, repeated = placeProcesses([]amdProcess{{pid: 1, index: 0, memory: m}, {pid: 1, index: 1, memory: gpu.Some[int64](8192)}}, 2, 2, leaves, false)
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

func TestFailureWords(t *testing.T) {
	t.Parallel()
	err := failure(&command.Result{ExitCode: 1, Stderr: []byte("Traceback (most recent call last):\n  File\nKeyError: 'x'\n")}, errNotJSON)
	require.EqualError(t, err, "exit code 1: output is not JSON: KeyError: 'x'")
	err = failure(&command.Result{ExitCode: 3, Stdout: []byte(strings.Repeat("long\n", 100))}, nil)
	require.ErrorContains(t, err, "exit code 3: long long")
	assert.Less(t, len(err.Error()), 200)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	r, a := DefaultROCmConfig(), DefaultAMDConfig()
	require.NoError(t, r.Check())
	require.NoError(t, a.Check())
	r.Path, a.Path = "/opt/rocm/bin/rocm-smi", "/opt/rocm/bin/amd-smi"
	require.NoError(t, r.Check())
	require.NoError(t, a.Check())
	r.Path, a.Path = "rocm-smi", "/bin/sh"
	require.ErrorContains(t, r.Check(), "path: ")
	require.ErrorContains(t, a.Check(), "path: ")
}
