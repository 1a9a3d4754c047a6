// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The second of the examples with which the project started.
func TestPmonExample(t *testing.T) {
	m, err := Pmon([]byte("# gpu pid type sm mem enc dec fb command\n0 12345 C 85 42 0 0 8192 python\n"))
	require.NoError(t, err)
	assert.Zero(t, m.Dropped)
	want := Process{Index: gpu.Some(int64(0)), PID: 12345, Type: gpu.ProcessCompute, Name: "python", Memory: gpu.Some(int64(8192 << 20))}
	want.MemoryController = gpu.Some(0.42)
	want.Utilization[gpu.TaskGeneral] = gpu.Some(0.85)
	want.Utilization[gpu.TaskEncoder] = gpu.Some(0.0)
	want.Utilization[gpu.TaskDecoder] = gpu.Some(0.0)
	assert.Equal(t, []Process{want}, m.Processes)
}

// If a version prints instances, a process belongs to one of them.
func TestPmonInstances(t *testing.T) {
	m, err := Pmon([]byte("# gpu gi ci pid type sm jpg ofa name\n0 7 1 9 C 5 6 7 a b\n0 - - 10 C - - - a\n1 - - - - - - - -\n"))
	require.NoError(t, err)
	want := Process{Index: gpu.Some[int64](0), GI: gpu.Some[int64](7), CI: gpu.Some[int64](1), PID: 9, Type: gpu.ProcessCompute, Name: "a b"}
	want.Utilization[gpu.TaskGeneral] = gpu.Some(0.05)
	want.Utilization[gpu.TaskJPEG] = gpu.Some(0.06)
	want.Utilization[gpu.TaskOpticalFlow] = gpu.Some(0.07)
	assert.Equal(t, []Process{want, {Index: gpu.Some[int64](0), PID: 10, Type: gpu.ProcessCompute, Name: "a"}}, m.Processes)
	assert.Equal(t, map[int64]bool{0: true, 1: true}, m.GPUs, "the GPUs that were listed, idle ones too")
}

func TestTrapPmonColumnsFollowTheSwitch(t *testing.T) {
	first, err := Pmon(testdata(t, "pmon/old-um.txt"))
	require.NoError(t, err)
	second, err := Pmon(testdata(t, "pmon/old-mu.txt"))
	require.NoError(t, err)
	assert.Equal(t, first.Processes[0], second.Processes[0])
	assert.Equal(t, gpu.Some(int64(8192<<20)), first.Processes[0].Memory)
	assert.Equal(t, gpu.Some(0.85), first.Processes[0].Utilization[gpu.TaskGeneral])
}

func TestTrapPmonHeadingInTheMiddle(t *testing.T) {
	m, err := Pmon(testdata(t, "pmon/old-um.txt"))
	require.NoError(t, err)
	assert.Zero(t, m.Dropped)
	assert.Len(t, m.Processes, 2, "the idle GPU's row has no process")
}

// If the name of a process cannot be read, for example because it has just ended, nvidia-smi 535 prints an idle row for its GPU. For the
// first GPU the row is before the heading, which is missing if this is true of all GPUs.
func TestTrapPmonRowBeforeTheHeading(t *testing.T) {
	m, err := Pmon([]byte("    0          -     -      -      -      -      -      -      -    -              \n" +
		"# gpu         pid  type    sm    mem    enc    dec     fb   ccpm    command\n" +
		"# Idx           #   C/G     %      %      %      %     MB     MB    name\n" +
		"    1       4242     C      -      -      -      -    500      0    a              \n"))
	require.NoError(t, err)
	assert.Equal(t, map[int64]bool{0: true, 1: true}, m.GPUs)
	assert.Len(t, m.Processes, 1)
	assert.Zero(t, m.Dropped)

	m, err = Pmon([]byte("    0          -     -      -      -      -      -      -      -    -              \n" +
		"    1          -     -      -      -      -      -      -      -    -              \n"))
	require.NoError(t, err)
	assert.Equal(t, map[int64]bool{0: true, 1: true}, m.GPUs)

	m, err = Pmon([]byte("0 of 8 GPUs\n12 -\n300 - - - - - - - - -\n- - - - - - - - - -\n# gpu pid type sm mem enc dec fb ccpm command\n"))
	require.NoError(t, err)
	assert.Empty(t, m.GPUs, "those are no rows")
}

func TestTrapPmonDashIsNoSample(t *testing.T) {
	m, err := Pmon(testdata(t, "pmon/old-um.txt"))
	require.NoError(t, err)
	assert.False(t, m.Processes[1].Utilization[gpu.TaskGeneral].Known())
	assert.Equal(t, gpu.Some(0.04), m.Processes[1].Utilization[gpu.TaskEncoder])
}

func TestTrapPmonCommandWithSpaces(t *testing.T) {
	m, err := Pmon(testdata(t, "pmon/550-um.txt"))
	require.NoError(t, err)
	require.Len(t, m.Processes, 3)
	assert.Equal(t, "NVIDIA Share.exe", m.Processes[1].Name)
}

func TestTrapPmonProtectedMemoryIsNotMemory(t *testing.T) {
	m, err := Pmon(testdata(t, "pmon/550-um.txt"))
	require.NoError(t, err)
	assert.Equal(t, gpu.Some(int64(25<<20)), m.Processes[0].Memory)
	assert.False(t, m.Processes[1].Memory.Known(), "fb is a dash, ccpm is 0")
}

// Version 535 prints 0 if the driver does not return the memory, as on a GPU that shares the system's memory.
func TestTrapPmonMemoryIsUnknown(t *testing.T) {
	m, err := Pmon([]byte("# gpu pid type sm mem enc dec fb ccpm command\n0 71000 C - - - - 0 0 python3\n"))
	require.NoError(t, err)
	require.Len(t, m.Processes, 1)
	assert.Equal(t, int64(71000), m.Processes[0].PID)
	assert.False(t, m.Processes[0].Memory.Known())
}

func TestPmonGarbage(t *testing.T) {
	for name, tt := range map[string]struct {
		text    string
		fails   bool
		dropped int
		rows    int
	}{
		"empty":            {"", true, 0, 0},
		"no heading":       {"0 12345 C 85 42 0 0 8192 python\n", true, 0, 0},
		"units only":       {"# Idx # C/G %\n0 1 C 5\n", true, 0, 0},
		"cut off":          {"# gpu pid type sm mem enc dec fb command\n0 1 C 1 2 3 4 5 a\n0 2 C 8", false, 1, 1},
		"cut in a number":  {"# gpu pid type sm mem enc dec fb command\n0 2 C 8 1 1 1 81", false, 1, 0},
		"a word for a GPU": {"# gpu pid type sm command\nx 1 C 5 a\n0 1 C 5 a\n", false, 1, 1},
		"a word for a PID": {"# gpu pid type sm command\n0 x C 5 a\n", false, 1, 0},
		"a message":        {"# gpu pid type sm command\nUnable to determine the device handle for GPU1: 0000:44:00.0: Unknown Error\n0 1 C 5 a\n", false, 0, 1},
		"a new column":     {"# gpu pid type sm qx command\n0 1 C 5 77 a b\n", false, 0, 1},
		"instances":        {"# gpu gi ci pid type sm command\n0 2 1 9 C 5 a\n", false, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Pmon([]byte(tt.text))
			assert.Equal(t, tt.fails, err != nil)
			assert.Equal(t, tt.dropped, m.Dropped)
			assert.Len(t, m.Processes, tt.rows)
		})
	}
}
