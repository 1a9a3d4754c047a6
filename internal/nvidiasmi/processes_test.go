// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

func TestUnwantedProcessesAreNotRead(t *testing.T) {
	f := h100Tool(t)
	f.t = t
	r := New(Config{Query: QueryFull}, f, gpu.GroupAll&^(gpu.GroupProcesses|gpu.GroupProcessUtilization))
	node := read(t, r)
	assert.Empty(t, node.Processes)
	assert.Equal(t, [][]string{{"xml", "list", "identity"}}, f.batches)
}

func TestProcessesUnread(t *testing.T) {
	node := read(t, newReader(t, QueryFull, h100Tool(t), newClock()))
	assert.False(t, node.Devices[0].ProcessesUnread)
	assert.False(t, node.Devices[1].ProcessesUnread, "that it has no process is unknown")

	f := h100Tool(t)
	f.xml.stdout = strings.NewReplacer("<processes>\n\t\t</processes>", "<processes>N/A</processes>").Replace(f.xml.stdout)
	f.pmon = answer{stdout: "garbage"}
	node = read(t, newReader(t, QueryFull, f, newClock()))
	assert.False(t, node.Devices[0].ProcessesUnread)
	assert.True(t, node.Devices[1].ProcessesUnread)

	f = h100Tool(t)
	f.t = t
	node = read(t, New(Config{Query: QueryFull}, f, gpu.GroupMemory))
	assert.True(t, node.Devices[0].ProcessesUnread, "processes are not wanted")

	f = tableTool(t, allNames())
	f.apps = answer{stdout: "garbage"}
	f.pmon = answer{stdout: "# gpu pid type sm command\n0 - - - -\n"}
	node = read(t, newReader(t, QueryFast, f, newClock()))
	assert.False(t, deviceOf(t, node, "GPU-a").ProcessesUnread)
	assert.True(t, deviceOf(t, node, "GPU-b").ProcessesUnread)
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
	assert.Equal(t, gpu.Some(int64(30)), p.Memory, "memory is added up, or that of pmon")
	assert.Equal(t, gpu.Some(0.05), p.Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.ProcessMPS, bothTypes(gpu.ProcessCompute, gpu.ProcessMPS))
}

func TestBothTypes(t *testing.T) {
	const unknown, compute, graphics, mps = gpu.ProcessUnknown, gpu.ProcessCompute, gpu.ProcessGraphics, gpu.ProcessMPS
	for _, tt := range [][3]gpu.ProcessType{
		{unknown, unknown, unknown},
		{compute, compute, compute},
		{unknown, compute, compute},
		{unknown, graphics, graphics},
		{unknown, mps, mps},
		{compute, graphics, gpu.ProcessComputeGraphics},
		{gpu.ProcessComputeGraphics, graphics, gpu.ProcessComputeGraphics},
		{compute, mps, mps},
	} {
		assert.Equal(t, tt[2], bothTypes(tt[0], tt[1]), "%v", tt)
		assert.Equal(t, tt[2], bothTypes(tt[1], tt[0]), "%v", tt)
	}
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
	assert.Empty(t, leafOf(mig, absent, absent), "the instance is unknown")
	mig.MIGDevices = nil
	assert.Empty(t, leafOf(mig, one, one), "a GPU with MIG on is no leaf")
}

// A process for which the tool prints no value is a process all the same: under WDDM, in the guest of a vGPU.
func TestProcessWithoutValues(t *testing.T) {
	f := h100Tool(t)
	f.pmon = answer{stdout: "The feature is not supported in this configuration\nNot supported on the device(s)\nFailed to process command line\n", exit: 255}
	f.xml.stdout = strings.ReplaceAll(f.xml.stdout, "<used_memory>70990 MiB", "<used_memory>N/A")
	p := processOf(t, read(t, newReader(t, QueryFull, f, newClock())), h100First, 990001)
	assert.False(t, p.Memory.Known())
	assert.False(t, p.Utilization[gpu.TaskGeneral].Known())
	assert.False(t, p.MemoryController.Known())

	f = tableTool(t, allNames())
	f.pmon = answer{stdout: "Not supported on the device(s)\n", exit: 3}
	p = processOf(t, read(t, newReader(t, QueryFast, f, newClock())), "GPU-b", 101)
	assert.False(t, p.Memory.Known())
}
