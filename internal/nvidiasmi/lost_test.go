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

// handle is the message for the second GPU of the H100 tool.
const handle = "Unable to determine the device handle for GPU1: 0000:43:00.0: Unknown Error\n"

// withoutSecond takes the second GPU out of the H100 tool's XML.
func withoutSecond(xml string) string {
	before, _, _ := strings.Cut(xml, "\t<gpu id=\"00000000:43:00.0\">")
	return before + "</nvidia_smi_log>\n"
}

func TestLostGPUStays(t *testing.T) {
	for name, lose := range map[string]func(a *answer){
		"told on stdout, exit 0":   func(a *answer) { a.stdout = handle + withoutSecond(a.stdout) },
		"told on stdout, exit 255": func(a *answer) { a.stdout, a.exit = handle+withoutSecond(a.stdout), 255 },
		"told on stderr":           func(a *answer) { a.stdout, a.stderr = withoutSecond(a.stdout), handle },
		"told without address": func(a *answer) {
			a.stdout, a.stderr = withoutSecond(a.stdout), "Unable to determine the device handle for GPU1: Unknown Error\n"
		},
		"in its values": func(a *answer) {
			at := strings.LastIndex(a.stdout, "<gpu id=")
			a.stdout = a.stdout[:at] + strings.NewReplacer("P0<", "GPU is lost<", "0 %", "GPU is lost", "H100 80GB HBM3", "GPU is lost",
				"<serial>1652923000002", "<serial>GPU is lost", "<uuid>"+h100Second, "<uuid>GPU is lost").Replace(a.stdout[at:])
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
				assert.Equal(t, gpu.Some(697.12), other.Power.Draw, "one bad GPU cost another its readings")
				assert.Equal(t, before.Epoch, other.Epoch)
			}
			f.xml = healthy
			node := read(t, r)
			d := deviceOf(t, node, h100Second)
			assert.NotContains(t, faults(d), gpu.FaultLost)
			assert.Greater(t, d.Epoch, before.Epoch, "its counters have started anew")
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
		assert.Empty(t, d.ID, "its id is not known")
		assert.Equal(t, "0000:43:00.0", d.Info.PCIAddress)
		assert.Equal(t, gpu.Some(1), d.Index)
		assert.Empty(t, d.Name, "which device node it had is not known")
		assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(&d))
		assert.Equal(t, counts(1, 1), presence(node))
	}
	f.xml, f.list = healthy.xml, healthy.list
	node := read(t, r)
	assert.Equal(t, []string{h100First, h100Second}, ids(node), "the placeholder ends when the id is known")
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
		assert.Equal(t, "gpu1", d.Name, "what it can be told from others by, and no device node's name")
		assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(&d))
		assert.True(t, d.ProcessesUnread)
		assert.Equal(t, counts(1, 1), presence(node))
	}
	f.xml = healthy
	assert.Equal(t, []string{h100First, h100Second}, ids(read(t, r)), "the placeholder ends when the id is known")
}

func TestGPUsOfWhichNothingIsTold(t *testing.T) {
	f := h100Tool(t)
	f.xml.stderr = "Unable to determine the PCI bus id for the target device: GPU is lost\n"
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.Equal(t, counts(2, 1), presence(node))

	// One that is known is missing: it is that one.
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

func TestIndexIsNotThePlaceInTheList(t *testing.T) {
	f := &tool{xml: file(t, "xml/lost.xml"), pmon: answer{stdout: "# gpu pid type sm command\n2 77 C 5 a\n3 78 C 6 b\n"}}
	for name, list := range map[string]answer{
		"told by -L": {stdout: "GPU 0: L (UUID: GPU-55000000-0000-4000-8000-000000000001)\nGPU 2: L (UUID: GPU-55000000-0000-4000-8000-000000000003)\n" +
			"GPU 3: L (UUID: GPU-55000000-0000-4000-8000-000000000004)\n"},
		"counted": {},
	} {
		t.Run(name, func(t *testing.T) {
			f.list = list
			node := read(t, newReader(t, QueryFull, f, newClock()))
			d := deviceOf(t, node, "GPU-55000000-0000-4000-8000-000000000004")
			assert.Equal(t, gpu.Some(3), d.Index)
			assert.Equal(t, []gpu.FaultType{gpu.FaultResetRequired}, faults(d))
			processOf(t, node, "GPU-55000000-0000-4000-8000-000000000004", 78)
			processOf(t, node, "GPU-55000000-0000-4000-8000-000000000003", 77)
			assert.Equal(t, counts(1, 3), presence(node))
		})
	}
}

func TestGPUThatVanishesWithoutAWord(t *testing.T) {
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

// A driver pod is replaced in order to install another version: a GPU that does not come back after it is told, whether it was
// lost over it or before, or the new version does not support it any more.
func TestGPUThatAnotherDriverDoesNotList(t *testing.T) {
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
				assert.Greater(t, deviceOf(t, node, h100First).Epoch, first, "its counters have started anew")
				d := deviceOf(t, node, h100Second)
				assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(d))
				assert.Contains(t, d.Faults[0].Message, "was seen with driver 580.95.05, and driver 581.01 does not list it")
				assert.Equal(t, "nvidia1", d.Name)
			}
			f.xml.stdout = strings.Replace(h100Tool(t).xml.stdout, "580.95.05", "581.01", 1)
			node := read(t, r)
			assert.Equal(t, counts(2, 0), presence(node))
			assert.NotContains(t, faults(deviceOf(t, node, h100Second)), gpu.FaultUnreachable, "it is back")
		})
	}
}

// alone is the H100 tool's XML of a machine of which the driver knows no second GPU.
func alone(xml string) string {
	return strings.Replace(withoutSecond(xml), "<attached_gpus>2", "<attached_gpus>1", 1)
}

// The machine was down for the new driver, and without the first GPU the second has its address: the first is missing, the second
// is not there twice.
func TestGPUAtTheAddressOfOneThatIsGone(t *testing.T) {
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

	// What is told of the address is told of the GPU that is there now.
	head, _, _ = strings.Cut(f.xml.stdout, "\t<gpu id=")
	f.xml.stdout = "Unable to determine the device handle for GPU0: 0000:1B:00.0: Unknown Error\n" + head + "</nvidia_smi_log>\n"
	node := read(t, r)
	assert.Equal(t, counts(0, 2), presence(node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, h100Second)))
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, node, h100First)))
}

func TestGPUThatTheToolLeavesOut(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = withoutSecond(f.xml.stdout)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{h100First}, ids(node))
	assert.Equal(t, counts(1, 1), presence(node), "the driver counts two GPUs")
}

func TestAnotherGPUInTheSameSlot(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml.stdout = strings.Replace(f.xml.stdout, h100Second, "GPU-new", 1)
	node := read(t, r)
	assert.Equal(t, []string{h100First, "GPU-new"}, ids(node))
	assert.Equal(t, counts(2, 0), presence(node))

	// It is lost before anything else was read of it: what the one before was is not what it is.
	f.xml.stdout = strings.Replace(f.xml.stdout, "GPU-new", "GPU-newer", 1)
	at := strings.LastIndex(f.xml.stdout, "<serial>")
	end := at + strings.Index(f.xml.stdout[at:], "</serial>")
	require.NotEmpty(t, deviceOf(t, node, "GPU-new").Info.Serial)
	f.xml.stdout = f.xml.stdout[:at] + "<serial>GPU is lost" + f.xml.stdout[end:]
	node = read(t, r)
	assert.Equal(t, []string{h100First, "GPU-newer"}, ids(node))
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Empty(t, deviceOf(t, node, "GPU-newer").Info.Serial)
}
