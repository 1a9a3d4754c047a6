// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestLostGPUStays(t *testing.T) {
	for name, lose := range map[string]func(a *answer){
		"on stdout, exit 0":   func(a *answer) { a.stdout = handle + withoutSecond(a.stdout) },
		"on stdout, exit 255": func(a *answer) { a.stdout, a.exit = handle+withoutSecond(a.stdout), 255 },
		"on stderr":           func(a *answer) { a.stdout, a.stderr = withoutSecond(a.stdout), handle },
		"without address": func(a *answer) {
			a.stdout, a.stderr = withoutSecond(a.stdout), "Unable to determine the device handle for GPU1: Unknown Error\n"
		},
		"in its values": func(a *answer) {
			index := strings.LastIndex(a.stdout, "<gpu id=")
			a.stdout = a.stdout[:index] + strings.NewReplacer("P0<", "GPU is lost<", "0 %", "GPU is lost", "H100 80GB HBM3", "GPU is lost",
				"<serial>1652923000002", "<serial>GPU is lost", "<uuid>"+h100Second, "<uuid>GPU is lost").Replace(a.stdout[index:])
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			r := newReader(t, QueryFull, f, newClock())
			before := *deviceOf(t, read(t, r), h100Second)
			healthy := f.xml
			lose(&f.xml)
			for range 2 {
				node := read(t, r)
				assert.Equal(t, []string{h100First, h100Second}, ids(node))
				assert.Equal(t, counts(1, 1), presence(node))
				d := deviceOf(t, node, h100Second)
				assert.Contains(t, faults(d), gpu.FaultLost)
				assert.Equal(t, gpu.StateFailed, d.State())
				assert.Equal(t, before.Name, d.Name)
				assert.Equal(t, before.Index, d.Index)
				assert.Equal(t, before.Info, d.Info)
				if name != "in its values" {
					assert.Equal(t, "NVIDIA H100 80GB HBM3", d.Model)
				}
				assert.False(t, d.PerformanceState.Known())
				assert.Equal(t, gpu.StateOK, (&gpu.Device{}).State())
				other := deviceOf(t, node, h100First)
				assert.NotContains(t, faults(other), gpu.FaultLost)
				assert.Equal(t, gpu.Some(697.12), other.Power.Draw, "one bad GPU costs another its values")
				assert.Equal(t, before.Epoch, other.Epoch)
			}
			f.xml = healthy
			node := read(t, r)
			d := deviceOf(t, node, h100Second)
			assert.NotContains(t, faults(d), gpu.FaultLost)
			assert.Greater(t, d.Epoch, before.Epoch, "its counters start again")
			assert.Equal(t, counts(2, 0), presence(node))
		})
	}
}

func TestLostGPUThatWasNeverSeen(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = handle + withoutSecond(f.xml.stdout)
	f.list.stdout = handle + "GPU 0: a (UUID: " + h100First + ")\n"
	healthy := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	for range 2 {
		node := read(t, r)
		require.Len(t, node.Devices, 2)
		d := node.Devices[1]
		assert.Empty(t, d.ID, "its ID is unknown")
		assert.Equal(t, "0000:43:00.0", d.Info.PCIAddress)
		assert.Equal(t, gpu.Some(1), d.Index)
		assert.Empty(t, d.Name, "its device node is unknown")
		assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(&d))
		assert.Equal(t, counts(1, 1), presence(node))
	}
	f.xml, f.list = healthy.xml, healthy.list
	node := read(t, r)
	assert.Equal(t, []string{h100First, h100Second}, ids(node), "the placeholder does not end when the ID is known")
}

func TestLostGPUWithoutAddressOrPast(t *testing.T) {
	f := h100Tool(t)
	healthy := f.xml
	f.xml.stdout = "Unable to determine the device handle for GPU1: Unknown Error\n" + withoutSecond(f.xml.stdout)
	r := newReader(t, QueryFull, f, newClock())
	for range 2 {
		node := read(t, r)
		require.Len(t, node.Devices, 2)
		d := node.Devices[1]
		assert.Empty(t, d.ID)
		assert.Equal(t, "gpu1", d.Name, "its name is unique and no device node's")
		assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(&d))
		assert.True(t, d.ProcessesUnread)
		assert.Equal(t, counts(1, 1), presence(node))
	}
	f.xml = healthy
	assert.Equal(t, []string{h100First, h100Second}, ids(read(t, r)), "the placeholder does not end when the ID is known")
}

func TestUnidentifiedUnreachableGPUs(t *testing.T) {
	f := h100Tool(t)
	f.xml.stderr = "Unable to determine the PCI bus id for the target device: GPU is lost\n"
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.Equal(t, counts(2, 1), presence(node))

	// The known GPU that is missing is the one.
	f = h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml.stdout, f.xml.stderr = withoutSecond(f.xml.stdout), "Unable to determine the PCI bus id for the target device: GPU is lost\n"
	node = read(t, r)
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, h100Second)))
	assert.Equal(t, counts(1, 1), presence(node))
}

func TestUnpoweredGPUIsUnreachable(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = "Unable to determine the device handle for GPU 0000:43:00.0: Unable to communicate with GPU because it is insufficiently powered.\n" +
		withoutSecond(f.xml.stdout)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(&node.Devices[1]))
}

func TestEveryGPUIsLost(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml = answer{stdout: "Unable to determine the device handle for GPU0: 0000:1B:00.0: GPU is lost\n" + handle + "No devices were found\n", exit: 6}
	node := read(t, r)
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.Equal(t, counts(0, 2), presence(node))
	for i := range node.Devices {
		assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(&node.Devices[i]))
	}
}

func TestGPUVanishesWithoutAMessage(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml.stdout = strings.Replace(withoutSecond(f.xml.stdout), "<attached_gpus>2", "<attached_gpus>1", 1)
	for range 3 {
		node := read(t, r)
		d := deviceOf(t, node, h100Second)
		assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(d))
		assert.Contains(t, d.Faults[0].Message, "seen before")
		assert.Equal(t, counts(1, 1), presence(node))
	}
}

// A driver pod is replaced to install another version. A GPU that does not come back is reported, whether it was lost during the
// change or before, or the new version does not support it any more.
func TestUnlistedGPUAfterADriverChange(t *testing.T) {
	for name, before := range map[string]func(f *tool, r *Reader){
		"lost over it":       func(*tool, *Reader) {},
		"the pod is another": func(_ *tool, r *Reader) { r.Reset() },
		"lost before":        func(f *tool, r *Reader) { f.xml.stdout = alone(f.xml.stdout); read(t, r) },
		"and there was none a while": func(f *tool, r *Reader) {
			healthy := f.xml
			f.xml = answer{stdout: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", exit: 9}
			read(t, r)
			f.xml = healthy
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			r := newReader(t, QueryFull, f, newClock())
			first := deviceOf(t, read(t, r), h100First).Epoch
			before(f, r)
			f.xml.stdout = strings.Replace(alone(f.xml.stdout), "580.95.05", "581.01", 1)
			for range 3 {
				node := read(t, r)
				assert.Equal(t, []string{h100First, h100Second}, ids(node))
				assert.Equal(t, counts(1, 1), presence(node))
				assert.Greater(t, deviceOf(t, node, h100First).Epoch, first, "its counters start again")
				d := deviceOf(t, node, h100Second)
				assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(d))
				assert.Contains(t, d.Faults[0].Message, "was seen with driver 580.95.05, and driver 581.01 does not list it")
				assert.Equal(t, "nvidia1", d.Name)
			}
			f.xml.stdout = strings.Replace(h100Tool(t).xml.stdout, "580.95.05", "581.01", 1)
			node := read(t, r)
			assert.Equal(t, counts(2, 0), presence(node))
			assert.NotContains(t, faults(deviceOf(t, node, h100Second)), gpu.FaultUnreachable, "it has come back")
		})
	}
}

func TestOmittedGPUIsMissing(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = withoutSecond(f.xml.stdout)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{h100First}, ids(node))
	assert.Equal(t, counts(1, 1), presence(node), "the driver counts two GPUs")
}

func TestTrapErrorInTheGPUsPlace(t *testing.T) {
	f := h100Tool(t)
	f.identity = answer{stdout: "index, uuid, compute_cap\n0, " + h100First + ", 9.0\n1, " + h100Second + ", 9.0\n"}
	r := newReader(t, QueryFull, f, newClock())
	before := *deviceOf(t, read(t, r), h100Second)
	require.Equal(t, "9.0", before.Info.ComputeCapability)
	index := strings.Index(f.xml.stdout, "\t<gpu id=\"00000000:43:00.0\">")
	f.xml.stdout = f.xml.stdout[:index] + "\t<error_string>Unable to determine the PCI bus id for the target device: GPU is lost</error_string>\n\n</nvidia_smi_log>\n"
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
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node), "its place identifies it")
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, "GPU-b")))
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Empty(t, problems(node))
}
