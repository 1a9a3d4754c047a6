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
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// The answers of nvidia-smi 535 on a machine with a GPU that has no handle: not one word of the others, except by -L and where
// the others are asked for by their indices.
const noHandle = "Unable to determine the device handle for GPU1: GPU is lost.  Reboot the system to recover this GPU\n\n\n"

func spoiled(t *testing.T) *tool {
	t.Helper()
	f := h100Tool(t)
	only := withoutSecond(f.xml.stdout)
	f.xml = answer{stdout: noHandle, exit: 15}
	f.pmon = answer{stdout: noHandle, exit: 15}
	f.apps = answer{stdout: noHandle, exit: 15}
	f.help = tableTool(t, allNames()).help
	f.table = func([]string) answer { return answer{stdout: noHandle, exit: 15} }
	f.list = answer{stdout: "GPU 0: NVIDIA H100 80GB HBM3 (UUID: " + h100First + ")\nUnable to determine the device handle for gpu 1: GPU is lost.  Reboot the system to recover this GPU\n\n\n", exit: 15}
	f.selected = func(kind, indices string, all answer) answer {
		if indices != "0" {
			return all
		}
		switch kind {
		case "xml":
			return answer{stdout: only}
		case "table":
			names := f.tables[len(f.tables)-1]
			row := strings.Repeat("[N/A], ", len(names)-1) + "H100"
			row = strings.Replace(row, "[N/A], [N/A], [N/A]", "0, "+h100First+", 00000000:1B:00.0", 1)
			return answer{stdout: strings.Join(names, ", ") + "\n" + row + "\n"}
		case "pmon":
			return answer{stdout: "# gpu pid type sm mem enc dec fb command\n0 990001 C 97 40 - 1 100 x\n"}
		case "apps":
			return answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n990001, " + h100First + ", 5 MiB, x\n"}
		}
		return all
	}
	return f
}

func TestTrapOneGPUWithoutAHandleSpoilsTheCallForAll(t *testing.T) {
	for _, query := range []string{QueryFull, QueryFast} {
		t.Run(query, func(t *testing.T) {
			healthy := h100Tool(t)
			f := spoiled(t)
			r := newReader(t, query, f, newClock())
			for i := range 3 {
				node := read(t, r)
				assert.Equal(t, []string{h100First, ""}, ids(node), "read %d", i)
				assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(&node.Devices[1]))
				assert.NotEqual(t, gpu.StateFailed, node.Devices[0].State())
				assert.Equal(t, counts(1, 1), presence(node))
				assert.Equal(t, gpu.Some(0.97), processOf(t, node, h100First, 990001).Utilization[gpu.TaskGeneral])
				assert.Empty(t, problems(node))
				if i == 0 {
					f.batches = nil
				}
			}
			want := []string{"list", "xml -i 0", "pmon -i 0"}
			if query == QueryFast {
				want = []string{"list", "table -i 0", "apps -i 0", "pmon -i 0"}
			}
			assert.Equal(t, [][]string{want, want}, f.batches, "one Run a read, also with a lost GPU")

			// The GPU comes back: -L lists it, and all are read again.
			f.selected = nil
			f.xml, f.list, f.pmon = healthy.xml, healthy.list, healthy.pmon
			f.table = func(names []string) answer {
				var rows strings.Builder
				for i, id := range []string{h100First, h100Second} {
					row := strings.Repeat("[N/A], ", len(names)-1) + "H100\n"
					rows.WriteString(strings.Replace(row, "[N/A], [N/A], [N/A]", fmt.Sprintf("%d, %s, 00000000:%s:00.0", i, id, []string{"1B", "43"}[i]), 1))
				}
				return answer{stdout: strings.Join(names, ", ") + "\n" + rows.String()}
			}
			f.apps = answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n"}
			node := read(t, r)
			assert.Equal(t, []string{h100First, h100Second}, ids(node))
			assert.Equal(t, counts(2, 0), presence(node))
			f.batches = nil
			read(t, r)
			assert.NotContains(t, f.batches[0], "list")
		})
	}
}

func TestSpoiledWhereTheOthersCannotBeAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(f *tool)
		want   string
	}{
		"list hangs":         {func(f *tool) { f.list = answer{err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)} }, "did not end in time"},
		"list says no":       {func(f *tool) { f.list = answer{stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255} }, "NVML: Unknown Error"},
		"list is empty":      {func(f *tool) { f.list = answer{} }, "nvidia-smi -L lists no GPU"},
		"indices are spoilt": {func(f *tool) { f.selected = nil }, "-i with their indices fails"},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			r := newReader(t, QueryFull, f, newClock())
			read(t, r)
			bad := spoiled(t)
			f.xml, f.pmon, f.list, f.selected = bad.xml, bad.pmon, bad.list, bad.selected
			tt.change(f)
			for range 3 {
				node := read(t, r)
				assert.Equal(t, []string{h100Second}, ids(node), "of the other nothing can be said")
				assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))
				assert.Contains(t, problems(node), tt.want)
			}
		})
	}
}

func TestSelectionThatNeverHolds(t *testing.T) {
	f := spoiled(t)
	n := 0
	f.selected = func(_, _ string, all answer) answer {
		n++
		f.list.stdout = strings.Repeat("GPU 0: a (UUID: GPU-a)\n", n%2+1)
		return all
	}
	f.t = t
	r := newReader(t, QueryFull, f, newClock())
	_, err := r.Read(t.Context())
	if err == nil {
		t.Log("it settled")
	}
	assert.LessOrEqual(t, len(f.batches), 3*maxAttempts, "a read goes on for ever")
}

func TestTrapErrorInTheGPUsPlace(t *testing.T) {
	f := h100Tool(t)
	f.identity = answer{stdout: "index, uuid, compute_cap\n0, " + h100First + ", 9.0\n1, " + h100Second + ", 9.0\n"}
	r := newReader(t, QueryFull, f, newClock())
	before := *deviceOf(t, read(t, r), h100Second)
	require.Equal(t, "9.0", before.Info.ComputeCapability)
	at := strings.Index(f.xml.stdout, "\t<gpu id=\"00000000:43:00.0\">")
	f.xml.stdout = f.xml.stdout[:at] + "\t<error_string>Unable to determine the PCI bus id for the target device: GPU is lost</error_string>\n\n</nvidia_smi_log>\n"
	f.xml.exit = 15
	f.list = answer{stdout: "GPU 0: a (UUID: " + h100First + ")\nUnable to determine the product name for gpu \xd6x}: GPU is lost\n", exit: 15}
	node := read(t, r)
	assert.Empty(t, problems(node))
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	d := deviceOf(t, node, h100Second)
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(d))
	assert.Equal(t, before.Info, d.Info)
	assert.Equal(t, before.Name, d.Name)
	assert.Equal(t, before.Model, d.Model)
	assert.Equal(t, counts(1, 1), presence(node))
}

func TestTrapRowWithoutIdentity(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		rows := strings.SplitAfter(a.stdout, "\n")
		lost := strings.TrimSuffix(strings.Repeat("[GPU is lost], ", len(fields)), ", ")
		return answer{stdout: rows[0] + rows[1] + lost + "\n"}
	}
	node := read(t, r)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node), "its place tells which one it is")
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, "GPU-b")))
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Empty(t, problems(node))
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

	// The GPU is well again: that pmon said no was not held against the version.
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

// Of a GPU with a process whose name cannot be read pmon says that it is idle, of the first one before the heading.
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

func TestProcessesUnread(t *testing.T) {
	node := read(t, newReader(t, QueryFull, h100Tool(t), newClock()))
	assert.False(t, node.Devices[0].ProcessesUnread)
	assert.False(t, node.Devices[1].ProcessesUnread, "it has no process, and that is known")

	f := h100Tool(t)
	f.xml.stdout = strings.NewReplacer("<processes>\n\t\t</processes>", "<processes>N/A</processes>").Replace(f.xml.stdout)
	f.pmon = answer{stdout: "garbage"}
	node = read(t, newReader(t, QueryFull, f, newClock()))
	assert.False(t, node.Devices[0].ProcessesUnread)
	assert.True(t, node.Devices[1].ProcessesUnread)

	f = h100Tool(t)
	f.t = t
	node = read(t, New(Config{Query: QueryFull}, f, gpu.GroupMemory))
	assert.True(t, node.Devices[0].ProcessesUnread, "nobody asked for them")

	f = tableTool(t, allNames())
	f.apps = answer{stdout: "garbage"}
	f.pmon = answer{stdout: "# gpu pid type sm command\n0 - - - -\n"}
	node = read(t, newReader(t, QueryFast, f, newClock()))
	assert.False(t, deviceOf(t, node, "GPU-a").ProcessesUnread)
	assert.True(t, deviceOf(t, node, "GPU-b").ProcessesUnread)
}

func TestMIGDeviceOfAGPUThatNeedsAReset(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<reset_required>No", "<reset_required>Yes", 1)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []gpu.FaultType{gpu.FaultResetRequired}, faults(deviceOf(t, node, migBig)))
}

func TestProcessListedMoreThanOnce(t *testing.T) {
	ps, pmon := &processes{index: map[processKey]int{}}, false
	add := func(kind gpu.ProcessType, name string, memory, sm gpu.Opt[int64]) {
		p := parse.Process{PID: 7, Type: kind, Name: name, Memory: memory}
		if v, ok := sm.Get(); ok {
			p.Utilization[gpu.TaskGeneral] = gpu.Some(float64(v) / 100)
		}
		ps.add(deviceRef{id: "GPU-a"}, &p, pmon)
	}
	absent := gpu.Opt[int64]{}
	add(gpu.ProcessGraphics, "", gpu.Some(int64(10)), absent)
	add(gpu.ProcessCompute, "/bin/x", gpu.Some(int64(30)), absent)
	add(gpu.ProcessUnknown, "/bin/y", gpu.Some(int64(20)), absent)
	pmon = true
	add(gpu.ProcessComputeGraphics, "z", gpu.Some(int64(99)), gpu.Some(int64(5)))
	add(gpu.ProcessCompute, "z", gpu.Some(int64(99)), gpu.Some(int64(4)))
	require.Len(t, ps.all, 1)
	p := ps.all[0]
	assert.Equal(t, gpu.ProcessComputeGraphics, p.Type)
	assert.Equal(t, "x", p.Executable)
	assert.Equal(t, gpu.Some(int64(30)), p.Memory, "not added up, and not another source's")
	assert.Equal(t, gpu.Some(0.05), p.Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.ProcessMPS, bothTypes(gpu.ProcessCompute, gpu.ProcessMPS))
}

func TestLeafOf(t *testing.T) {
	one, two := gpu.Some(int64(1)), gpu.Some(int64(2))
	absent := gpu.Opt[int64]{}
	plain := &parse.GPU{Device: gpu.Device{ID: "GPU-a"}}
	assert.Equal(t, "GPU-a", leafOf(plain, absent, absent).id)
	mig := &parse.GPU{Device: gpu.Device{ID: "GPU-a"}, MIGEnabled: gpu.Some(true), MIGDevices: []parse.MIGDevice{{GI: one, CI: one, UUID: "MIG-11"}}}
	assert.Equal(t, "MIG-11", leafOf(mig, absent, absent).id, "there is only one")
	assert.Equal(t, "MIG-11", leafOf(mig, one, absent).id)
	assert.Empty(t, leafOf(mig, two, one))
	mig.MIGDevices = append(mig.MIGDevices, parse.MIGDevice{GI: one, CI: two, UUID: "MIG-12"})
	assert.Equal(t, "MIG-12", leafOf(mig, one, two).id)
	assert.Empty(t, leafOf(mig, absent, absent), "which one is not told")
	mig.MIGDevices = nil
	assert.Empty(t, leafOf(mig, one, one), "a GPU with MIG on is no leaf")
}
