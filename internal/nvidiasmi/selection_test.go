// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The answers of nvidia-smi 535 on a machine with a GPU that has no handle. The others are missing except with -L and if they are queried
// by their indices.
const noHandle = "Unable to determine the device handle for GPU1: GPU is lost.  Reboot the system to recover this GPU\n\n\n"

func noHandleTool(t *testing.T) *tool {
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
			return silentTool(t, map[string]string{
				"index": "0", "uuid": h100First, "pci.bus_id": "00000000:1B:00.0", "memory.total": "81559 MiB", "name": "H100",
			}).table(names)
		case "pmon":
			return answer{stdout: "# gpu pid type sm mem enc dec fb command\n0 990001 C 97 40 - 1 100 x\n"}
		case "apps":
			return answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n990001, " + h100First + ", 5 MiB, x\n"}
		}
		return all
	}
	return f
}

func TestTrapMissingHandleFailsQuery(t *testing.T) {
	for _, query := range []string{QueryFull, QueryFast} {
		t.Run(query, func(t *testing.T) {
			healthy := h100Tool(t)
			f := noHandleTool(t)
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

			// The GPU comes back: -L lists it, and all GPUs are queried again.
			f.selected = nil
			f.xml, f.list, f.pmon = healthy.xml, healthy.list, healthy.pmon
			f.table = silentTool(t,
				map[string]string{"index": "0", "uuid": h100First, "pci.bus_id": "00000000:1B:00.0", "memory.total": "81559 MiB", "name": "H100"},
				map[string]string{"index": "1", "uuid": h100Second, "pci.bus_id": "00000000:43:00.0", "memory.total": "81559 MiB", "name": "H100"},
			).table
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

func TestOthersCannotBeSelected(t *testing.T) {
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
			bad := noHandleTool(t)
			f.xml, f.pmon, f.list, f.selected = bad.xml, bad.pmon, bad.list, bad.selected
			tt.change(f)
			for range 3 {
				node := read(t, r)
				assert.Equal(t, []string{h100Second, h100First}, ids(node))
				assert.True(t, deviceOf(t, node, h100First).Unread, "the state of the other is unknown")
				assert.Equal(t, gpu.FailureToolFailed, failureOf(node), "no GPU was read")
				assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))
				assert.Contains(t, problems(node), tt.want)
			}
		})
	}
}

func TestSelectionThatNeverHolds(t *testing.T) {
	f := noHandleTool(t)
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
	assert.LessOrEqual(t, len(f.batches), 3*maxAttempts, "a read does not end")
}

// A GPU has no device handle for a moment, as during a reset, and has one again when -L lists the others.
func TestGPUWithoutHandleIsQueriedAgain(t *testing.T) {
	f := h100Tool(t)
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	healthy := f.xml
	read(t, r)
	f.xml, f.selected = answer{stdout: noHandle, exit: 15}, noHandleTool(t).selected
	node := read(t, r)
	assert.NotEqual(t, gpu.StateFailed, deviceOf(t, node, h100First).State())
	assert.Equal(t, gpu.StateFailed, deviceOf(t, node, h100Second).State())

	f.batches = nil
	read(t, r)
	assert.Equal(t, [][]string{{"list", "xml -i 0", "pmon -i 0"}}, f.batches, "all GPUs are queried with every read")
	for i, queries := range []int{1, 0, 1, 0} { // less and less often
		c.pass(10 * time.Second)
		f.batches = nil
		read(t, r)
		require.NotEmpty(t, f.batches)
		assert.Equal(t, queries, strings.Count(strings.Join(f.batches[0], " ")+" ", "xml pmon "), "read %d: %v", i, f.batches)
	}
	f.xml = healthy
	c.pass(retryPolicy.Max)
	node = read(t, r)
	assert.NotEqual(t, gpu.StateFailed, deviceOf(t, node, h100Second).State())
	assert.Equal(t, counts(2, 0), presence(node))
	assert.Empty(t, problems(node))
}

// The GPUs come back: the read in which -L lists them has all of them.
func TestSelectionEndsWhenTheListChanges(t *testing.T) {
	healthy := h100Tool(t)
	f := noHandleTool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	read(t, r)
	f.xml, f.pmon, f.list = healthy.xml, healthy.pmon, healthy.list
	node := read(t, r)
	assert.Equal(t, counts(2, 0), presence(node))
	assert.NotEqual(t, gpu.StateFailed, deviceOf(t, node, h100Second).State())
}

// -q -x of version 535 ends at the first GPU without a handle. If no GPU has one, -L lists the rest, and one of them may have a handle and
// nothing else.
func TestAllGPUsLost(t *testing.T) {
	const (
		again = ": A GPU reset must occur before this GPU can be used again.\n\n.\n"
		lost  = ": GPU is lost.  Reboot the system to recover this GPU\n\n\n"
	)
	for name, tt := range map[string]struct {
		xml, list string
		want      [2]gpu.FaultType
	}{
		"reset": {
			"Unable to determine the device handle for GPU0" + again,
			"Unable to determine the device handle for gpu 0" + again + "Unable to determine the device handle for gpu 1" + again,
			[2]gpu.FaultType{gpu.FaultResetRequired, gpu.FaultResetRequired},
		},
		"one has a handle": {
			"Unable to determine the device handle for GPU1" + lost,
			"Unable to determine the product name for gpu \x90\xc3\x41: GPU requires reset\nUnable to determine the device handle for gpu 1" + lost,
			[2]gpu.FaultType{gpu.FaultResetRequired, gpu.FaultLost},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			r := newReader(t, QueryFull, f, newClock())
			read(t, r)
			f.xml, f.list = answer{stdout: tt.xml}, answer{stdout: tt.list}
			node := read(t, r)
			require.Len(t, node.Devices, 2)
			assert.Equal(t, counts(0, 2), presence(node))
			assert.Equal(t, []gpu.FaultType{tt.want[0]}, faults(deviceOf(t, node, h100First)))
			assert.Equal(t, []gpu.FaultType{tt.want[1]}, faults(deviceOf(t, node, h100Second)))
			assert.Equal(t, counts(0, 2), presence(read(t, newReader(t, QueryFull, f, newClock()))), "no GPU was ever seen")
		})
	}
}
