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

func migTool(t *testing.T) *tool {
	t.Helper()
	return &tool{
		xml: file(t, "xml/v12-535-mig.xml"), list: file(t, "list/mig.txt"), pmon: file(t, "pmon/mig.txt"),
		help: file(t, "help/query-gpu-465.txt"),
		table: func([]string) answer {
			return answer{stdout: "index, uuid, mig.mode.current, name\n0, " + a100MIG + ", Enabled, A100\n1, " + a100Plain + ", Disabled, A100\n"}
		},
		apps: answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n7001, " + a100MIG + ", 11990 MiB, python3\n"},
	}
}

func TestMIGDevices(t *testing.T) {
	f := migTool(t)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Empty(t, problems(node))
	assert.Equal(t, []string{a100MIG, migBig, migSmall, a100Plain}, ids(node))
	assert.Equal(t, counts(2, 0), presence(node), "partitions do not count")

	d := deviceOf(t, node, migBig)
	assert.Equal(t, a100MIG, d.Parent)
	assert.Equal(t, "nvidia0/gi1/ci0", d.Name)
	assert.Equal(t, "NVIDIA A100-SXM4-80GB", d.Model)
	assert.Equal(t, "3g.40gb", d.Info.Profile)
	assert.Equal(t, gpu.Some(0), d.Index)
	assert.Equal(t, gpu.Some(1), d.GPUInstance)
	assert.Equal(t, gpu.Some(0), d.ComputeInstance)
	assert.False(t, d.ProcessesUnread)
	assert.Equal(t, gpu.Some(int64(40192<<20)), d.Memory.Limit)
	assert.Equal(t, gpu.Some(int64(12037<<20)), d.Memory.Usage)
	assert.Equal(t, []gpu.ErrorCount{{Type: gpu.ErrorUncorrected, Count: gpu.Total(int64(1))}}, d.Errors)
	assert.False(t, d.Power.Draw.Known(), "power belongs to the GPU")
	assert.False(t, d.Utilization[gpu.TaskGeneral].Known())
	assert.Empty(t, deviceOf(t, node, a100MIG).Parent)

	require.Len(t, node.Processes, 1, "a process that pmon shows on the GPU is on one of its MIG devices")
	p := processOf(t, node, migBig, 7001)
	assert.Equal(t, gpu.Some(int64(11990<<20)), p.Memory)
	assert.False(t, p.Utilization[gpu.TaskGeneral].Known())
}

func TestTrapMIGNodeFullQuery(t *testing.T) {
	f := migTool(t)
	r := newReader(t, QueryFast, f, newClock())
	node := read(t, r)
	assert.Equal(t, []string{a100MIG, migBig, migSmall, a100Plain}, ids(node))
	processOf(t, node, migBig, 7001)
	assert.Len(t, node.Processes, 1, "the table of processes lists them under the GPU, and is not used")
	assert.Equal(t, [][]string{{"help"}, {"table", "apps", "pmon", "rows"}, {"xml", "pmon", "list", "identity"}}, f.batches)
	read(t, r)
	assert.Equal(t, []string{"xml", "pmon"}, f.batches[3])

	// MIG is disabled: the second read after that is a fast one.
	f.xml = file(t, "xml/v13-580.xml")
	f.xml.stdout = strings.Replace(f.xml.stdout, "580.95.05", "535.129.03", 1)
	f.list = answer{stdout: "GPU 0: a (UUID: " + h100First + ")\n"}
	f.table = func([]string) answer {
		return answer{stdout: "index, uuid, mig.mode.current\n0, " + h100First + ", Disabled\n"}
	}
	read(t, r)
	f.batches = nil
	read(t, r)
	assert.Equal(t, [][]string{{"table", "apps", "pmon", "rows"}}, f.batches)
	f.batches = nil
	read(t, r)
	assert.Equal(t, [][]string{{"table", "apps", "pmon"}}, f.batches, "the switch is refused")
}

func TestMIGListingFollowsTheLayout(t *testing.T) {
	f := migTool(t)
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	read(t, r)
	read(t, r)
	require.Len(t, f.batches, 2)

	// The small device is created again with other numbers.
	f.xml.stdout = strings.Replace(f.xml.stdout, "<gpu_instance_id>5</gpu_instance_id>", "<gpu_instance_id>6</gpu_instance_id>", 1)
	f.list.stdout = strings.Replace(f.list.stdout, migSmall, "MIG-new", 1)
	node := read(t, r)
	assert.Contains(t, ids(node), "MIG-new")
	assert.NotContains(t, ids(node), migSmall)
	assert.Equal(t, []string{"list", "identity"}, f.batches[3])

	// It is created again and looks the same, which is found after a while.
	f.list.stdout = strings.Replace(f.list.stdout, "MIG-new", "MIG-newer", 1)
	assert.Contains(t, ids(read(t, r)), "MIG-new")
	c.pass(deviceListAge)
	assert.Contains(t, ids(read(t, r)), "MIG-newer")
	f.batches = nil
	read(t, r)
	assert.Equal(t, [][]string{{"xml", "pmon"}}, f.batches)
}

func TestMIGWithoutUUIDs(t *testing.T) {
	for name, a := range map[string]answer{
		"hangs":    {err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)},
		"says no":  {stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255},
		"nothing":  {},
		"old form": {stdout: "GPU 0: A100 (UUID: " + a100MIG + ")\n  MIG 3g.40gb Device 0: (UUID: MIG-" + a100MIG + "/1/0)\n  MIG 1g.20gb Device 1: (UUID: MIG-" + a100MIG + "/5/0)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := migTool(t)
			list := f.list
			f.list = a
			r := newReader(t, QueryFull, f, newClock())
			node := read(t, r)
			assert.Equal(t, []string{a100MIG, a100MIG + "/1/0", a100MIG + "/5/0", a100Plain}, ids(node))
			processOf(t, node, a100MIG+"/1/0", 7001)
			if name == "old form" {
				assert.Empty(t, problems(node))
				assert.Equal(t, "3g.40gb", node.Devices[1].Info.Profile)
				return
			}
			assert.Contains(t, problems(node), "nvidia-smi -L")
			f.list = list
			assert.Contains(t, ids(read(t, r)), migBig, "-L is not run again")
		})
	}
}

func TestMIGDeviceWithoutAnyIdentity(t *testing.T) {
	f := migTool(t)
	f.list = answer{stdout: "GPU 0: A100 (UUID: " + a100MIG + ")\n"}
	f.xml.stdout = strings.Replace(f.xml.stdout, "<gpu_instance_id>5</gpu_instance_id>", "<gpu_instance_id>N/A</gpu_instance_id>", 1)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{a100MIG, a100MIG + "/1/0", a100Plain}, ids(node))
	assert.Contains(t, problems(node), "MIG device 1 of "+a100MIG+" shows neither")
}

// The name of a MIG device is made of its instances if both are known, else of its index.
func TestMIGDeviceWithoutComputeInstance(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<compute_instance_id>0</compute_instance_id>", "<compute_instance_id>N/A</compute_instance_id>", 1)
	d := deviceOf(t, read(t, newReader(t, QueryFull, f, newClock())), migBig)
	assert.Equal(t, "nvidia0/mig0", d.Name)
	assert.Equal(t, gpu.Opt[int]{}, d.ComputeInstance)
}

func TestTrapMIGIndexLeavesNumbersOut(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<index>1</index>", "<index>3</index>", 1) // -L calls it Device 1
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{a100MIG, migBig, migSmall, a100Plain}, ids(node))
	assert.Equal(t, gpu.Some(3), deviceOf(t, node, migSmall).Index)
}

func TestMIGUUIDInXML(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<index>0</index>", "<index>0</index><uuid>MIG-from-xml</uuid>", 1)
	assert.Contains(t, ids(read(t, newReader(t, QueryFull, f, newClock()))), "MIG-from-xml")
}

func TestAllMIGNeedsNoPmon(t *testing.T) {
	f := migTool(t)
	first, _, _ := strings.Cut(f.xml.stdout, "\t<gpu id=\"00000000:0F:00.0\">")
	f.xml.stdout = first + "</nvidia_smi_log>\n"
	f.list.stdout, _, _ = strings.Cut(f.list.stdout, "GPU 1")
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	read(t, r)
	c.pass(time.Second)
	read(t, r)
	assert.Equal(t, []string{"xml"}, f.batches[1])
}

// If the processes of the GPU could not be read, the processes of its MIG devices were not read either.
func TestProcessesUnreadOnMIGDevices(t *testing.T) {
	f := migTool(t)
	assert.False(t, deviceOf(t, read(t, newReader(t, QueryFull, f, newClock())), migBig).ProcessesUnread)
	start, end := strings.Index(f.xml.stdout, "<processes>"), strings.Index(f.xml.stdout, "</processes>")
	f.xml.stdout = f.xml.stdout[:start] + "<processes>Insufficient Permissions" + f.xml.stdout[end:]
	f.pmon = answer{stdout: "garbage"}
	assert.True(t, deviceOf(t, read(t, newReader(t, QueryFull, f, newClock())), migBig).ProcessesUnread)
}
