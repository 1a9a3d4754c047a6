// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestUnsupportedPmonIsNotRunEachTime(t *testing.T) {
	f := h100Tool(t)
	f.pmon = answer{stdout: "The feature is not supported in this configuration\nNot supported on the device(s)\nFailed to process command line\n", exit: 255}
	r := newReader(t, QueryFull, f, newClock())
	for range 3 {
		node := read(t, r)
		assert.Len(t, node.Devices, 2)
		assert.Contains(t, problems(node), "pmon: The feature is not supported in this configuration")
		assert.Len(t, node.Processes, 1, "the processes of the listing are missing")
	}
	assert.Equal(t, [][]string{{"xml", "pmon", "list", "identity"}, {"xml"}, {"xml"}}, f.batches)

	f.xml.stdout = strings.Replace(f.xml.stdout, "580.95.05", "581.01", 1)
	f.pmon = answer{stdout: "# gpu pid type sm command\n"}
	read(t, r)
	node := read(t, r)
	assert.Empty(t, problems(node))
	assert.Equal(t, []string{"xml", "pmon"}, f.batches[len(f.batches)-1], "another version is not queried again")
}

func TestPmonFailsAlone(t *testing.T) {
	for name, a := range map[string]answer{
		"hangs":     {err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)},
		"garbage":   {stdout: "\x00\x01", exit: 1},
		"truncated": {stdout: "# gpu pid ty", truncated: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			f.pmon = a
			node := read(t, newReader(t, QueryFull, f, newClock()))
			assert.Len(t, node.Devices, 2)
			assert.Equal(t, gpu.StateOK, (&gpu.Device{Faults: nil}).State())
			assert.NotContains(t, faults(&node.Devices[0]), gpu.FaultHung)
			assert.Contains(t, problems(node), "process utilization | nvidia-smi pmon")
			assert.Len(t, node.Processes, 1)
		})
	}
}

// A GPU fails between the listing and pmon, which then refuses all GPUs. The refusal does not last.
func TestRefusedPmonIsRetried(t *testing.T) {
	f := h100Tool(t)
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	supported := f.pmon
	f.pmon = answer{stdout: "Not supported on the device(s)\nFailed to process command line\n", exit: 255}
	assert.False(t, processOf(t, read(t, r), h100First, 990001).Utilization[gpu.TaskGeneral].Known())
	f.pmon = supported
	c.pass(retryPolicy.First)
	node := read(t, r)
	assert.Equal(t, gpu.Some(0.97), processOf(t, node, h100First, 990001).Utilization[gpu.TaskGeneral])
	assert.Empty(t, problems(node))
	read(t, r)
	assert.Equal(t, []string{"xml", "pmon"}, f.batches[2], "pmon does not run with every read")
}

func TestTrapPmonRefusesAllForOneGPU(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = handle + withoutSecond(f.xml.stdout)
	f.pmon = answer{stdout: "Not supported on the device(s)\nFailed to process command line \n\n", exit: 255}
	f.selected = func(kind, indices string, all answer) answer {
		if kind == "pmon" && indices == "0" {
			return answer{stdout: "# gpu pid type sm mem enc dec fb command\n0 990001 C 97 40 - 1 100 x\n"}
		}
		return all
	}
	r := newReader(t, QueryFull, f, newClock())
	for range 2 {
		node := read(t, r)
		assert.Empty(t, problems(node))
		assert.Equal(t, gpu.Some(0.97), processOf(t, node, h100First, 990001).Utilization[gpu.TaskGeneral])
	}
	f.selected = nil
	node := read(t, r)
	assert.Contains(t, problems(node), "nvidia-smi pmon: Not supported on the device(s)")

	// The GPU is reachable again: the refusal of pmon was not taken for one of the version.
	healthy := h100Tool(t)
	f.xml, f.list, f.pmon = healthy.xml, healthy.list, healthy.pmon
	assert.Empty(t, problems(read(t, r)))
}

func TestTrapPmonStopsAtAFewGPUs(t *testing.T) {
	f := h100Tool(t)
	f.pmon = answer{stdout: "\nWARNING: Only monitoring up to 4 GPUs is supported by default.\nSet NVSMI_SHOW_ALL_DEVICES=1 to increase the limit up to 16 GPUs.\n\n" +
		"# gpu pid type sm mem enc dec fb command\n0 - - - - - - - -\n"}
	node := read(t, newReader(t, QueryFull, f, newClock()))
	require.Len(t, node.Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "1 of 2 GPUs are missing in its output; set NVSMI_SHOW_ALL_DEVICES=1")
}

// pmon prints an idle row for a GPU with a process whose name cannot be read, for the first GPU before the heading.
func TestTrapPmonWithoutTheNameOfAProcess(t *testing.T) {
	for name, change := range map[string]func(f *tool){
		"full": func(f *tool) {
			f.xml.stdout = strings.Replace(f.xml.stdout, "<process_name>VLLM::EngineCore</process_name>", "<process_name></process_name>", 1)
		},
		"fast": func(f *tool) {
			f.xml = minorsXML("1", "0")
			f.help, f.table = tableTool(t, allNames()).help, tableTool(t, allNames()).table
			f.apps = answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n990001, GPU-a, 500 MiB, [Not Found]\n"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			f.pmon = answer{stdout: "0 - - - - - - - - -\n# gpu pid type sm mem enc dec fb ccpm command\n1 12 G 1 2 3 4 5 6 x\n"}
			change(f)
			node := read(t, newReader(t, name, f, newClock()))
			require.Len(t, node.Processes, 2)
			assert.Empty(t, node.Processes[0].Executable)
			require.Len(t, node.Problems, 1)
			assert.Equal(t, "process names", node.Problems[0].What)
			require.ErrorContains(t, node.Problems[0].Err, "the name of a process is unreadable on 1 of 2 GPUs")
		})
	}
	f := h100Tool(t)
	f.pmon = answer{stdout: "# gpu pid type sm mem enc dec fb ccpm command\n0 - - - - - - - - -\n1 - - - - - - - - -\n"}
	assert.Empty(t, problems(read(t, newReader(t, QueryFull, f, newClock()))), "the process was started between the calls")
}

// Processes that are missing are reported.
func TestMissingProcessesAreReported(t *testing.T) {
	for want, spoil := range map[string]func(f *tool){
		"--query-compute-apps: 1 rows are unreadable": func(f *tool) { f.apps.stdout += "x, GPU-a, 1 MiB, python3\n" },
		"pmon: 1 rows are unreadable":                 func(f *tool) { f.pmon.stdout += "0 x C 1 1 1 1 1 python3\n" },
		"nvidia-smi pmon: the output ends early":      func(f *tool) { f.pmon.stdout = strings.TrimSuffix(f.pmon.stdout, "none\n") },
		"--query-compute-apps: the output ends early": func(f *tool) { f.apps.stdout = strings.TrimSuffix(f.apps.stdout, "Found]\n") },
		"1 of 2 GPUs are missing in its output; The feature is not supported in this configuration": func(f *tool) {
			f.pmon.stdout = "The feature is not supported in this configuration\n" + strings.Replace(f.pmon.stdout, "\n1 101 C+G - - 7 - 30 tool\n", "\n", 1)
		},
		"the name of a process is unreadable on 1 of": func(f *tool) {
			f.pmon.stdout = strings.Replace(f.pmon.stdout, "\n1 101 C+G - - 7 - 30 tool\n", "\n1 - - - - - - - -\n", 1)
		},
	} {
		t.Run(want, func(t *testing.T) {
			f := tableTool(t, allNames())
			f.apps.stdout += "103, GPU-a, 1 MiB, [Not Found]\n"
			assert.Empty(t, problems(read(t, newReader(t, QueryFast, f, newClock()))), "pmon shows other processes of that GPU")
			spoil(f)
			assert.Contains(t, problems(read(t, newReader(t, QueryFast, f, newClock()))), want)
		})
	}
}
