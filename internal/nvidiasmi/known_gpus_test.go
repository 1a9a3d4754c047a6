// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A property that does not change stays known when one answer lacks it.
func TestIdentityOutlivesAnAnswerWithoutIt(t *testing.T) {
	f := h100Tool(t)
	f.identity = answer{stdout: "index, uuid, compute_cap\n0, " + h100First + ", 9.0\n1, " + h100Second + ", 9.0\n"}
	r := newReader(t, QueryFull, f, newClock())
	require.Equal(t, "9.0", deviceOf(t, read(t, r), h100Second).Info.ComputeCapability)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<minor_number>1<", "<minor_number>Not Found<", 1)
	assert.Equal(t, "nvidia1", deviceOf(t, read(t, r), h100Second).Name)
	f.identity = answer{stdout: "Unknown Error\n", exit: 255}
	f.xml.stdout = strings.Replace(f.xml.stdout, "580.95.05", "580.105.08", 1) // everything is listed again
	assert.Equal(t, "9.0", deviceOf(t, read(t, r), h100Second).Info.ComputeCapability)
}

func TestAddressOutlivesATableWithoutIt(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	require.Equal(t, "0000:0b:00.0", deviceOf(t, read(t, r), "GPU-b").Info.PCIAddress)
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		a.stdout = strings.Replace(a.stdout, "00000000:0B:00.0", "[Unknown Error]", 1)
		return a
	}
	assert.Equal(t, "0000:0b:00.0", deviceOf(t, read(t, r), "GPU-b").Info.PCIAddress)
	f.table = func(fields []string) answer {
		lines := strings.SplitAfter(table(fields).stdout, "\n")
		return answer{stdout: lines[0] + lines[1] + "Unable to determine the device handle for GPU1: 0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU\n", exit: 15}
	}
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(read(t, r)), "the address identifies it when it is lost")
}

// The second GPU was removed, and the first is at its address now: an address belongs to the GPU that was read there last.
func TestMovedGPU(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml.stdout = strings.ReplaceAll(withoutSecond(f.xml.stdout), "00000000:1B:00.0", "00000000:43:00.0")
	f.list.stdout, _, _ = strings.Cut(f.list.stdout, "GPU 1")
	node := read(t, r)
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, node, h100Second)), "it is missing")

	lost := strings.Replace(handle, "GPU1", "GPU0", 1)
	f.xml, f.list = answer{stdout: lost, exit: 15}, answer{stdout: lost, exit: 15}
	node = read(t, r)
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, h100First)))
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, node, h100Second)))
}

// The machine was down for the new driver, and without the first GPU the second has its address: the first is missing, and the
// second is in the node once.
func TestReusedPCIAddress(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	head, rest, _ := strings.Cut(f.xml.stdout, "\t<gpu id=\"00000000:1B:00.0\">")
	_, second, _ := strings.Cut(rest, "\t<gpu id=\"00000000:43:00.0\">")
	f.xml.stdout = strings.NewReplacer("580.95.05", "581.01", "<attached_gpus>2", "<attached_gpus>1", "00000000:43:00.0", "00000000:1B:00.0").
		Replace(head + "\t<gpu id=\"00000000:43:00.0\">" + second)
	f.list.stdout = "GPU 0: a (UUID: " + h100Second + ")\n"
	for range 2 {
		node := read(t, r)
		assert.Equal(t, []string{h100Second, h100First}, ids(node))
		assert.Equal(t, counts(1, 1), presence(node))
		assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, node, h100First)))
		assert.Equal(t, "0000:1b:00.0", deviceOf(t, node, h100Second).Info.PCIAddress)
	}

	// A message about the address means the GPU that is there now.
	head, _, _ = strings.Cut(f.xml.stdout, "\t<gpu id=")
	f.xml.stdout = "Unable to determine the device handle for GPU0: 0000:1B:00.0: Unknown Error\n" + head + "</nvidia_smi_log>\n"
	node := read(t, r)
	assert.Equal(t, counts(0, 2), presence(node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, h100Second)))
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, node, h100First)))
}

func TestAnotherGPUInTheSameSlot(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml.stdout = strings.Replace(f.xml.stdout, h100Second, "GPU-new", 1)
	node := read(t, r)
	assert.Equal(t, []string{h100First, "GPU-new"}, ids(node))
	assert.Equal(t, counts(2, 0), presence(node))

	// It is lost before anything else was read: it does not get the properties of the GPU before it.
	f.xml.stdout = strings.Replace(f.xml.stdout, "GPU-new", "GPU-newer", 1)
	index := strings.LastIndex(f.xml.stdout, "<serial>")
	end := index + strings.Index(f.xml.stdout[index:], "</serial>")
	require.NotEmpty(t, deviceOf(t, node, "GPU-new").Info.Serial)
	f.xml.stdout = f.xml.stdout[:index] + "<serial>GPU is lost" + f.xml.stdout[end:]
	node = read(t, r)
	assert.Equal(t, []string{h100First, "GPU-newer"}, ids(node))
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Empty(t, deviceOf(t, node, "GPU-newer").Info.Serial)
}

// Another GPU at another address has the index of a GPU that is gone.
func TestIndexOfAGoneGPU(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	other := strings.NewReplacer(h100Second, "GPU-other", "00000000:43:00.0", "00000000:99:00.0")
	f.xml.stdout, f.list.stdout = other.Replace(f.xml.stdout), other.Replace(f.list.stdout)
	node := read(t, r)
	assert.Equal(t, []string{h100First, "GPU-other", h100Second}, ids(node))
	assert.Equal(t, counts(2, 1), presence(node))
}

// An unreadable row does not mean that its GPU is gone.
func TestUnreadableRow(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		a.stdout = a.stdout[:strings.LastIndex(a.stdout, "1, GPU-b")] + "??\n"
		return a
	}
	node := read(t, r)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
	assert.True(t, deviceOf(t, node, "GPU-b").Unread)
	assert.Contains(t, problems(node), "contains unreadable rows")
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))
}

// While one GPU is off the bus the others have other indices: a GPU that was known only by its index does not match any of the GPUs that
// are back.
func TestPlaceholderByIndexEnds(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	healthy, list := f.xml.stdout, f.list.stdout
	head, gpus, _ := strings.Cut(healthy, "\t<gpu id")
	_, others, _ := strings.Cut(gpus, "</gpu>\n")
	f.xml.stdout = "Unable to determine the device handle for GPU1: GPU is lost\n" + head + others
	f.list.stdout = "GPU 0: H100 (UUID: " + h100Second + ")\n"
	assert.Len(t, read(t, r).Devices, 3, "the second, one that is known by its index only, and the first, which is missing")
	f.xml.stdout, f.list.stdout = healthy, list
	node := read(t, r)
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.Equal(t, counts(2, 0), presence(node))
}

// inventing is a tool that lists other GPUs each time, as with a driver that returns uninitialised memory, or on a node that
// cannot be trusted.
type inventing struct{ reads int }

func (i *inventing) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	results := make([]command.Result, len(commands))
	for c := range commands {
		if args := strings.Join(commands[c].Args, " "); !strings.HasPrefix(args, "-q -x") {
			continue
		}
		i.reads++
		var out strings.Builder
		out.WriteString("<nvidia_smi_log><driver_version>580.1</driver_version><attached_gpus>100</attached_gpus>")
		for g := range 100 {
			fmt.Fprintf(&out, `<gpu id="%08X:%02X:00.0"><uuid>GPU-%d-%d</uuid></gpu>`, i.reads, g, i.reads, g)
		}
		out.WriteString("</nvidia_smi_log>")
		results[c].Stdout = []byte(out.String())
	}
	return results, nil
}

func TestKnownGPUsAreBounded(t *testing.T) {
	r := New(Config{Query: QueryFull}, &inventing{}, gpu.GroupAll)
	const maxAbsent = 64 // of the inventory
	var node *gpu.Node
	for range 50 {
		var err error
		node, err = r.Read(t.Context())
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, len(node.Devices), 100+maxAbsent)
	assert.LessOrEqual(t, len(r.known.inventory.All()), 100+maxAbsent)
	var present int
	for i := range node.Devices {
		if node.Devices[i].State() == gpu.StateOK {
			present++
		}
	}
	assert.Equal(t, 100, present, "the listed GPUs are in the node")
	assert.Equal(t, gpu.Some[int64](100), node.Presence[gpu.Visible])
}
