// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

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

// Where a process's name cannot be read, as of one that has just ended, nvidia-smi 535 has an idle row for its GPU; for the first GPU
// before the heading, and without one where all are such.
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

// The second example with which the project was asked for.
func TestPmonExample(t *testing.T) {
	m, err := Pmon([]byte("# gpu pid type sm mem enc dec fb command\n0 12345 C 85 42 0 0 8192 python\n"))
	require.NoError(t, err)
	assert.Zero(t, m.Dropped)
	want := Process{Index: gpu.Some(int64(0)), PID: 12345, Type: gpu.ProcessCompute, Name: "python", Memory: gpu.Some(int64(8192 << 20))}
	want.Utilization[gpu.TaskGeneral] = gpu.Some(0.85)
	want.Utilization[gpu.TaskEncoder] = gpu.Some(0.0)
	want.Utilization[gpu.TaskDecoder] = gpu.Some(0.0)
	assert.Equal(t, []Process{want}, m.Processes)
}

// Where a version tells instances, a process belongs to one.
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

// The columns of processes under each of their names.
func TestAppColumns(t *testing.T) {
	want := Process{PID: 7, UUID: "GPU-1", PCI: "0000:0a:00.0", Name: "/a", Memory: gpu.Some[int64](5 << 20)}
	for _, heading := range []string{
		"timestamp, gpu_name, gpu_serial, gpu_uuid, gpu_bus_id, pid, used_gpu_memory [MiB], process_name",
		"timestamp, gpu_name, gpu_serial, gpu_uuid, gpu_bus_id, pid, used_memory [MiB], name",
	} {
		apps, found, dropped := ComputeApps([]byte(heading+"\n2026, A, 1, GPU-1, 00000000:0A:00.0, 7, 5 MiB, /a\n"+
			"2026, A, 1, [N/A], [N/A], 8, [N/A], [N/A]\n2026, A, 1, GPU-1, 00000000:0A:00.0, [N/A], 5 MiB, /a\n1, 2\n"), nil)
		assert.True(t, found)
		assert.Equal(t, 2, dropped, "a row without a PID, and one that was cut off")
		assert.Equal(t, []Process{want, {PID: 8}}, apps)
	}
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

func TestList(t *testing.T) {
	assert.Equal(t, []ListedGPU{
		{Index: 0, Name: "NVIDIA A100-SXM4-80GB", UUID: "GPU-53500000-0000-4000-8000-000000000001", MIGDevices: []ListedMIGDevice{
			{Index: 0, Profile: "3g.40gb", UUID: "MIG-53500000-aaaa-5000-8000-000000000001"},
			{Index: 1, Profile: "1g.20gb", UUID: "MIG-53500000-aaaa-5000-8000-000000000002"},
		}},
		{Index: 1, Name: "NVIDIA A100-SXM4-80GB", UUID: "GPU-53500000-0000-4000-8000-000000000002"},
	}, DeviceList(testdata(t, "list/mig.txt")))
	compute := DeviceList(testdata(t, "list/compute-instances.txt"))
	require.Len(t, compute, 1)
	assert.Equal(t, "1c.3g.71gb", compute[0].MIGDevices[0].Profile)
	assert.Equal(t, "1g.18gb+me", compute[0].MIGDevices[2].Profile)
}

func TestTrapOldMIGIdentityIsNoUUID(t *testing.T) {
	listed := DeviceList(testdata(t, "list/450-mig.txt"))
	require.Len(t, listed, 1)
	assert.Equal(t, []ListedMIGDevice{{Index: 0, Profile: "1g.5gb"}}, listed[0].MIGDevices)
}

func TestTrapListWithALostGPU(t *testing.T) {
	listed := DeviceList(testdata(t, "list/lost.txt"))
	require.Len(t, listed, 2)
	assert.Equal(t, 2, listed[1].Index)
}

func TestListGarbage(t *testing.T) {
	for _, s := range []string{
		"", "GPU", "GPU 0", "GPU x: A (UUID: GPU-1)", "  MIG 1g.5gb Device 0: (UUID: MIG-1)", "GPU -1: A (UUID: GPU-1)", "No devices were found",
	} {
		assert.Empty(t, DeviceList([]byte(s)), s)
	}
	listed := DeviceList([]byte("GPU 0: A (UUID: GPU-1)\n  MIG 1g.5gb Device x: (UUID: MIG-1)\n  MIG\n  MIG a b c: (UUID: MIG-2)\n"))
	require.Len(t, listed, 1)
	assert.Empty(t, listed[0].MIGDevices)
}

func TestHelp(t *testing.T) {
	names := Help(testdata(t, "help/query-gpu-465.txt"))
	for _, n := range []string{"uuid", "gpu_uuid", "clocks_throttle_reasons.sw_power_cap", "clocks.gr", "retired_pages.dbe", "mig.mode.current"} {
		assert.True(t, names[n], n)
	}
	assert.False(t, names["Not Active"], "what is quoted within a sentence is no field")
	assert.False(t, names["memory.reserved"])
	assert.Empty(t, Help([]byte("nvidia-smi: not found\n")))
	assert.Empty(t, Help(nil))
}

func TestTrapWindowsLineEndsAndByteOrderMarks(t *testing.T) {
	const table = "index, uuid, memory.used [MiB], name\r\n0, GPU-1, 5 MiB, A\r\n"
	var little []byte
	for _, u := range utf16.Encode([]rune("\uFEFF" + table)) {
		little = append(little, byte(u), byte(u>>8))
	}
	var big []byte
	for _, u := range utf16.Encode([]rune("\uFEFF" + table)) {
		big = append(big, byte(u>>8), byte(u))
	}
	for _, data := range [][]byte{[]byte(table), []byte("\uFEFF" + table), little, big} {
		log, found := QueryGPU(data, nil)
		require.True(t, found)
		require.Len(t, log.GPUs, 1)
		assert.Equal(t, "A", log.GPUs[0].Device.Model)
		assert.Equal(t, gpu.Some(int64(5<<20)), log.GPUs[0].Device.Memory.Usage)
	}
	log, err := XML([]byte("\uFEFF" + strings.ReplaceAll(string(testdata(t, "xml/v9-384.xml")), "\n", "\r\n")))
	require.NoError(t, err)
	want, err := XML(testdata(t, "xml/v9-384.xml"))
	require.NoError(t, err)
	assert.Equal(t, want, log)
}

func TestTableEdges(t *testing.T) {
	for name, tt := range map[string]struct {
		text    string
		asked   []string
		found   bool
		gpus    int
		dropped int
	}{
		"empty":             {"", nil, false, 0, 0},
		"heading only":      {"index, uuid\n", nil, true, 0, 0},
		"no heading, asked": {"0, GPU-1\n", []string{"index", "uuid"}, true, 1, 0},
		"no heading":        {"0, GPU-1\n", nil, false, 0, 1},
		"too few cells":     {"index, uuid, name\n0, GPU-1\n", nil, true, 0, 1},
		"too many cells":    {"index, uuid\n0, GPU-1, 7\n", nil, true, 0, 1},
		"cut off":           {"index, uuid, memory.used [MiB]\n0, GPU-1, 5 MiB\n1, GPU-2, ", nil, true, 2, 0},
		"no space":          {"index,uuid\n0,GPU-1\n", nil, true, 1, 0},
		"empty last cell":   {"index, serial, compute_mode\n0, 7,\n", nil, true, 1, 0},
		"two headings":      {"index, uuid\n0, GPU-1\nindex, uuid\n0, GPU-1\n", nil, true, 2, 0},
		"shell's complaint": {"sh: nvidia-smi: not found\n", []string{"index", "uuid"}, false, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			log, found := QueryGPU([]byte(tt.text), tt.asked)
			assert.Equal(t, tt.found, found)
			assert.Len(t, log.GPUs, tt.gpus)
			assert.Equal(t, tt.dropped, log.Dropped)
			assert.Equal(t, tt.found && tt.dropped == 0, log.Complete)
		})
	}
}

func TestFieldsAreAllNamedAndOrdered(t *testing.T) {
	fields := Fields()
	seen := map[string]bool{}
	for _, f := range fields {
		for _, n := range f.Names {
			assert.False(t, seen[n], "%s is read twice", n)
			seen[n] = true
			assert.True(t, isName(n), n)
		}
	}
	assert.Equal(t, "index", fields[0].Names[0], "a row must begin with a digit")
	assert.Equal(t, "name", fields[len(fields)-1].Names[0], "commas may stand in the last cell alone")
}

// Version 535 prints 0 where the driver does not tell, as on a GPU that shares the system's memory.
func TestTrapPmonMemoryNotTold(t *testing.T) {
	m, err := Pmon([]byte("# gpu pid type sm mem enc dec fb ccpm command\n0 71000 C - - - - 0 0 python3\n"))
	require.NoError(t, err)
	require.Len(t, m.Processes, 1)
	assert.Equal(t, int64(71000), m.Processes[0].PID)
	assert.False(t, m.Processes[0].Memory.Known())
}
