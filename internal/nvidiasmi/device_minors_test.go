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

// names returns the devices' names by their IDs.
func names(node *gpu.Node) map[string]string {
	all := map[string]string{}
	for _, d := range node.Devices {
		all[d.ID] = d.Name
	}
	return all
}

func TestNamesAreThoseOfTheDeviceNodes(t *testing.T) {
	f := &tool{xml: file(t, "xml/v10-418.xml"), list: answer{stdout: "GPU 0: a (UUID: GPU-41800000-0000-4000-8000-000000000001)\nGPU 1: a (UUID: GPU-41800000-0000-4000-8000-000000000002)\n"}}
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, "nvidia1", node.Devices[0].Name, "index 0 has minor number 1")
	assert.Equal(t, gpu.Some(0), node.Devices[0].Index)
	node = read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/v13-591-wddm.xml")}, newClock()))
	assert.Empty(t, node.Devices[0].Name, "without a minor number there is none")
}

// The numbers of the device nodes are neither the indices nor in their order, as with a single GPU that has minor number 6.
func TestTrapMinorNumbersAreNoIndices(t *testing.T) {
	for name, tt := range map[string]struct {
		minors []string
		want   map[string]string
	}{
		"swapped":            {[]string{"1", "0"}, map[string]string{"GPU-a": "nvidia1", "GPU-b": "nvidia0"}},
		"high":               {[]string{"6", "2"}, map[string]string{"GPU-a": "nvidia6", "GPU-b": "nvidia2"}},
		"no device nodes":    {[]string{"N/A", "N/A"}, map[string]string{"GPU-a": "", "GPU-b": ""}},
		"one of them has it": {[]string{"1", "N/A"}, map[string]string{"GPU-a": "nvidia1", "GPU-b": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tableTool(t, allNames())
			f.xml = minorsXML(tt.minors...)
			f.list = answer{stdout: "GPU 0: A (UUID: GPU-a)\nGPU 1: A (UUID: GPU-b)\n"}
			r := newReader(t, QueryFast, f, newClock())
			for range 20 {
				node := read(t, r)
				assert.Equal(t, tt.want, names(node))
				assert.Empty(t, problems(node))
			}
			assert.Equal(t, 1, f.calls("xml"), "the query is repeated")
			assert.Equal(t, tt.want, names(read(t, newReader(t, QueryFull, f, newClock()))), "the full query uses other names")
		})
	}
}

func TestMinorNumbersAreQueriedAgainWhenTheyMayChange(t *testing.T) {
	f := tableTool(t, allNames())
	table := f.table
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	asks := func(want int, why string) {
		t.Helper()
		f.batches = nil
		for range 3 {
			read(t, r)
		}
		assert.Equal(t, want, f.calls("xml"), why)
	}
	asks(0, "nothing has changed")

	// A GPU is lost, and the number of the other is known. The lost one may have another number when it comes back.
	f.table = func(fields []string) answer {
		a := table(fields)
		rows := strings.SplitAfter(a.stdout, "\n")
		return answer{stdout: "Unable to determine the device handle for GPU1: 0000:0B:00.0: Unknown Error\n" + rows[0] + rows[1], exit: 255}
	}
	asks(0, "a lost GPU has no number")
	assert.Equal(t, map[string]string{"GPU-a": "nvidia1", "GPU-b": "nvidia0"}, names(read(t, r)), "the name of a lost GPU is known")
	f.table, f.xml = table, minorsXML("1", "7")
	asks(1, "it came back")
	assert.Equal(t, "nvidia7", deviceOf(t, read(t, r), "GPU-b").Name)

	// Another version of the driver, then another machine, then a driver that was away.
	f.table = func(fields []string) answer {
		a := table(fields)
		a.stdout = strings.ReplaceAll(a.stdout, "550.1", "560.2")
		return a
	}
	f.xml = minorsXML("3", "4")
	f.xml.stdout = strings.ReplaceAll(f.xml.stdout, "550.1", "560.2")
	asks(1, "another version")
	assert.Equal(t, map[string]string{"GPU-a": "nvidia3", "GPU-b": "nvidia4"}, names(read(t, r)))
	r.Reset()
	asks(1, "another machine")
	again := f.table
	f.table = func([]string) answer {
		return answer{stdout: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", exit: 9}
	}
	asks(0, "there is no driver")
	f.table = again
	asks(1, "the driver was loaded again")
}

// The number of a GPU stays known when its row is cut off.
func TestMinorNumbersOutliveACutOutput(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		a.stdout, a.truncated = a.stdout[:len(a.stdout)-2], true
		return a
	}
	read(t, r)
	f.table = table
	assert.Equal(t, map[string]string{"GPU-a": "nvidia1", "GPU-b": "nvidia0"}, names(read(t, r)))
	assert.Equal(t, 1, f.calls("xml"))
}

// Until the numbers are known the GPUs have no name, because one made of the index would be another GPU's. Everything else is read, and the
// query is repeated with a back-off.
func TestUnknownMinorNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		xml  answer
		says string
		open string
	}{
		"hangs":     {answer{err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)}, "did not end in time", "2 of 2"},
		"garbage":   {answer{stdout: "\x00"}, "no nvidia_smi_log", "2 of 2"},
		"says no":   {answer{stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255}, "Unknown Error", "2 of 2"},
		"half":      {answer{stdout: minorsXML("1", "0").stdout[:400], truncated: true}, "the output ends early", "1 of 2"},
		"other GPU": {minorsXML("1"), "the output does not contain them", "1 of 2"},
		"refused":   {minorsXML("1", "Unknown Error"), "the output does not contain them", "1 of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := tableTool(t, allNames())
			f.xml = tt.xml
			c := newClock()
			r := newReader(t, QueryFast, f, c)
			for range 120 { // 20 minutes
				node := read(t, r)
				require.Len(t, node.Devices, 2)
				assert.Empty(t, deviceOf(t, node, "GPU-b").Name)
				assert.Equal(t, gpu.Some(51.0), deviceOf(t, node, "GPU-b").Temperature[gpu.SensorGPU])
				require.Len(t, node.Problems, 1)
				require.ErrorContains(t, node.Problems[0].Err, tt.says)
				require.ErrorContains(t, node.Problems[0].Err, tt.open+" GPUs")
				c.pass(10 * time.Second)
			}
			assert.Equal(t, 8, f.calls("xml"), "after 0, 10, 30, 70, 150, 310, 610 and 910 seconds")
			f.xml = minorsXML("1", "0")
			c.pass(retryPolicy.Max)
			node := read(t, r)
			assert.Empty(t, problems(node))
			assert.Equal(t, map[string]string{"GPU-a": "nvidia1", "GPU-b": "nvidia0"}, names(node))
		})
	}
}

// The numbers that the full query of a node with MIG has read are not queried again, and the names stay.
func TestMinorNumbersOfTheFullQueryAreKept(t *testing.T) {
	f := tableTool(t, allNames())
	f.list = answer{stdout: "GPU 0: A (UUID: GPU-a)\nGPU 1: A (UUID: GPU-b)\n"}
	off, enabled := f.table, false
	f.table = func(fields []string) answer {
		a := off(fields)
		if enabled {
			a.stdout = strings.Replace(a.stdout, "Disabled", "Enabled", 1)
		}
		return a
	}
	r := newReader(t, QueryFast, f, newClock())
	want := map[string]string{"GPU-a": "nvidia1", "GPU-b": "nvidia0"}
	plain, mig := f.xml, f.xml
	mig.stdout = strings.ReplaceAll(mig.stdout, "<minor", "<mig_mode>\n<current_mig>Enabled</current_mig>\n</mig_mode>\n<minor")
	for range 2 {
		f.xml, enabled = plain, false
		for range 3 {
			assert.Equal(t, want, names(read(t, r)))
		}
		f.xml, enabled = mig, true
		for range 3 {
			assert.Equal(t, want, names(read(t, r)))
		}
	}
	f.xml, enabled = plain, false
	read(t, r)
	f.batches = nil
	assert.Equal(t, want, names(read(t, r)))
	assert.Equal(t, [][]string{{"table", "apps", "pmon"}}, f.batches)
}
