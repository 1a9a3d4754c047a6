// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A driver pod that has just started has no library yet, or its output is cut off. A help text without a list says nothing about
// the fields of the version.
func TestTrapHelpListsNothing(t *testing.T) {
	noLibrary := "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly " +
		"installed and present in your system.\n"
	whole := tableTool(t, allNames()).help
	for name, tt := range map[string]struct {
		help answer
		says string
	}{
		"no library": {answer{stdout: noLibrary, exit: 12}, "couldn't find libnvidia-ml.so"},
		"nothing":    {answer{}, "it lists no field"},
		"garbage":    {answer{stdout: "\x00", exit: 1}, "exit code 1"},
		"cut off":    {answer{stdout: whole.stdout[:400], truncated: true}, "the output ends early"},
		"killed":     {answer{stdout: whole.stdout[:400], exit: -1}, "the output ends early"},
	} {
		t.Run(name, func(t *testing.T) {
			f := tableTool(t, append(allNames(), chooseFields(gpu.GroupAll, nil).names...))
			f.help = tt.help
			c := newClock()
			r := newReader(t, QueryFast, f, c)
			for i := range 60 { // 10 minutes
				node := read(t, r)
				require.Len(t, node.Devices, 2)
				require.Len(t, node.Problems, 1, "read %d", i)
				assert.Equal(t, "fields", node.Problems[0].What)
				require.ErrorContains(t, node.Problems[0].Err, "nvidia-smi --help-query-gpu: ")
				require.ErrorContains(t, node.Problems[0].Err, tt.says)
				assert.Equal(t, gpu.Some(50.0), deviceOf(t, node, "GPU-a").Temperature[gpu.SensorGPU])
				c.pass(10 * time.Second)
			}
			assert.Equal(t, 6, f.calls("help"), "after 0, 10, 30, 70, 150 and 310 seconds")
			assert.NotContains(t, f.tables[0], "mig.mode.current")

			// Now the driver is installed.
			f.help = whole
			c.pass(retryPolicy.Max)
			for range 3 {
				assert.Empty(t, problems(read(t, r)))
				c.pass(retryPolicy.Max)
			}
			assert.Equal(t, 7, f.calls("help"), "the help is queried again")
			assert.Contains(t, f.tables[len(f.tables)-1], "mig.mode.current")
			assert.Contains(t, f.tables[len(f.tables)-1], "clocks_event_reasons.sw_power_cap")
		})
	}
}

// The help hangs when it is queried again: the known fields are still read.
func TestHelpHangsLater(t *testing.T) {
	f := tableTool(t, append(allNames(), chooseFields(gpu.GroupAll, nil).names...))
	whole := f.help
	f.help = answer{}
	c := newClock()
	r := newReader(t, QueryFast, f, c)
	read(t, r)
	f.help = answer{err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)}
	c.pass(retryPolicy.First)
	node := read(t, r)
	assert.Len(t, node.Devices, 2)
	assert.Contains(t, problems(node), "did not end in time")
	f.help = whole
	c.pass(2 * retryPolicy.First)
	assert.Empty(t, problems(read(t, r)))
}

// A version that refuses the basic fields is read in full until it lists its own.
func TestBasicFieldsAreRefused(t *testing.T) {
	f := tableTool(t, []string{"index", "uuid", "driver_version", "temperature.gpu"})
	f.list = answer{stdout: "GPU 0: A (UUID: GPU-a)\nGPU 1: A (UUID: GPU-b)\n"}
	help := f.help
	f.help = answer{}
	c := newClock()
	r := newReader(t, QueryFast, f, c)
	for range 2 {
		assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(read(t, r)))
	}
	assert.Equal(t, 1, f.calls("help"))
	f.help = help
	c.pass(retryPolicy.First)
	f.batches = nil
	for range 2 {
		assert.Empty(t, problems(read(t, r)))
	}
	assert.Equal(t, [][]string{{"help"}, {"table", "apps", "pmon", "rows"}, {"table", "apps", "pmon"}}, f.batches)
}

// The first calls find no driver, which is then installed.
func TestDriverIsInstalledLater(t *testing.T) {
	f := migTool(t)
	help, table := f.help, f.table
	missing := answer{stdout: "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", exit: 12}
	f.help, f.table = missing, func([]string) answer { return missing }
	c := newClock()
	r := newReader(t, QueryFast, f, c)
	node := read(t, r)
	assert.Empty(t, node.Devices)
	require.Len(t, node.Problems, 1, "the failure says it all")
	f.help, f.table = help, func(fields []string) answer {
		if !slices.Contains(fields, "mig.mode.current") {
			return answer{stdout: "index, uuid\n0, " + a100MIG + "\n1, " + a100Plain + "\n"}
		}
		return table(fields)
	}
	c.pass(retryPolicy.First)
	node = read(t, r)
	assert.Empty(t, problems(node))
	assert.Contains(t, ids(node), migBig, "it is read in full")
}

// While the help lists nothing no column shows MIG. The query for the numbers of the device nodes does.
func TestMIGIsSeenWithoutHelp(t *testing.T) {
	f := migTool(t)
	f.help = answer{}
	f.table = func(fields []string) answer {
		var rows strings.Builder
		for i, id := range []string{a100MIG, a100Plain} {
			row := slices.Repeat([]string{"[N/A]"}, len(fields))
			row[slices.Index(fields, "index")] = strconv.Itoa(i)
			for j, field := range fields {
				if field == "uuid" || field == "gpu_uuid" {
					row[j] = id
				}
			}
			rows.WriteString(strings.Join(row, ", ") + "\n")
		}
		return answer{stdout: strings.Join(fields, ", ") + "\n" + rows.String()}
	}
	r := newReader(t, QueryFast, f, newClock())
	assert.Contains(t, problems(read(t, r)), "--help-query-gpu")
	for range 3 {
		node := read(t, r)
		assert.Contains(t, ids(node), migBig)
		assert.Empty(t, problems(node))
	}
}

// The help of a version that lists few fields is queried once, and so is the help of a version without the switch.
func TestHelpOfAnOldVersionIsQueriedOnce(t *testing.T) {
	few := []string{"index", "gpu_uuid", "gpu_bus_id", "driver_version", "temperature.gpu"}
	for name, help := range map[string]answer{
		"few fields":              tableTool(t, few).help,
		"few fields, and a code":  {stdout: tableTool(t, few).help.stdout, exit: 3},
		"the switch is not known": {stdout: "Option --help-query-gpu is not recognized. Please run 'nvidia-smi -h'.\n", exit: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var basic []string
			for _, names := range [][]string{few, chooseFields(gpu.GroupAll, nil).names} {
				basic = append(basic, names...)
			}
			f := tableTool(t, basic)
			f.help = help
			c := newClock()
			r := newReader(t, QueryFast, f, c)
			for range 30 {
				node := read(t, r)
				assert.Len(t, node.Devices, 2)
				assert.Empty(t, problems(node))
				c.pass(time.Minute)
			}
			assert.Equal(t, 1, f.calls("help"))
		})
	}
}

func TestFastWithoutHelp(t *testing.T) {
	f := tableTool(t, allNames())
	f.help = answer{stdout: "\x00", exit: 1}
	f.table = func(fields []string) answer {
		row := strings.Repeat("[N/A], ", len(fields)-1) + "A"
		return answer{stdout: strings.Join(fields, ", ") + "\n0" + strings.TrimPrefix(row, "[N/A]") + "\n"}
	}
	read(t, newReader(t, QueryFast, f, newClock()))
	require.Len(t, f.tables, 1)
	assert.NotContains(t, f.tables[0], "compute_cap")
	assert.Contains(t, f.tables[0], "temperature.gpu")
}
