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
				assert.Equal(t, before.Info.Serial, d.Info.Serial)
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

func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		answer answer
		fault  gpu.FaultType
		says   string
		rests  bool
		reload bool
	}{
		"driver not loaded": {
			answer{stdout: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n", exit: 9},
			gpu.FaultUnreachable, "modprobe nvidia", true, true,
		},
		"driver mismatch": {
			answer{stdout: "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.104\n", exit: 18},
			gpu.FaultDriverMismatch, "reboot, or unload the module", false, true,
		},
		"NVML unknown error": {
			answer{stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255},
			gpu.FaultUnreachable, "systemd daemon-reload", false, false,
		},
		"no permission": {
			answer{stdout: "Failed to initialize NVML: Insufficient Permissions\n", exit: 4},
			gpu.FaultUnreachable, "/dev/nvidiactl", true, false,
		},
		"no library": {
			answer{stdout: "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system.\n", exit: 12},
			gpu.FaultUnreachable, "libnvidia-ml.so.1", true, true,
		},
		"no devices": {answer{stdout: "No devices were found\n", exit: 6}, gpu.FaultUnreachable, "lspci", true, true},
		"no GPU listed": {
			answer{stdout: "<nvidia_smi_log><driver_version>580.95.05</driver_version><attached_gpus>0</attached_gpus></nvidia_smi_log>"},
			gpu.FaultUnreachable, "it lists no GPU", true, true,
		},
		"unknown call":  {answer{stdout: "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", exit: 2}, gpu.FaultUnreachable, "does not know the call", true, false},
		"another code":  {answer{stderr: "something else\n", exit: 255}, gpu.FaultUnreachable, "exit code 255: something else", true, false},
		"tool missing":  {answer{err: fmt.Errorf("%w: no nvidia-smi in /usr/bin", command.ErrNotFound)}, gpu.FaultUnreachable, "no nvidia-smi in /usr/bin", true, false},
		"hang":          {answer{err: fmt.Errorf("nvidia-smi: %w: killed", command.ErrTimeout)}, gpu.FaultHung, "did not end in time", false, false},
		"still hanging": {answer{err: fmt.Errorf("nvidia-smi: %w since noon", command.ErrBusy)}, gpu.FaultHung, "still running since noon", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			// A machine on which nothing was seen yet.
			f := &tool{xml: tt.answer}
			c := newClock()
			r := newReader(t, QueryFull, f, c)
			node := read(t, r)
			assert.Empty(t, node.Devices)
			assert.Empty(t, node.Processes)
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, tt.says)
			if tt.fault == gpu.FaultHung {
				assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node), "how many GPUs there are is not known")
			} else {
				want := [gpu.NumPresences]gpu.Opt[int64]{gpu.Visible: gpu.Some(int64(0))}
				assert.Equal(t, want, presence(node), "whether one is missing it cannot tell")
			}
			again := read(t, r)
			assert.Equal(t, tt.rests, len(f.batches) == 1, "batches: %v", f.batches)
			assert.Contains(t, problems(again), tt.says, "the problem holds while nothing is looked at")

			// One whose GPUs are known.
			f = h100Tool(t)
			r = newReader(t, QueryFull, f, c)
			before := deviceOf(t, read(t, r), h100First).Epoch
			healthy := f.xml
			f.xml = tt.answer
			node = read(t, r)
			assert.Equal(t, []string{h100First, h100Second}, ids(node))
			assert.Equal(t, counts(0, 2), presence(node))
			for i := range node.Devices {
				d := &node.Devices[i]
				assert.Equal(t, []gpu.FaultType{tt.fault}, faults(d))
				assert.Equal(t, "580.95.05", d.Info.DriverVersion)
				assert.False(t, d.Memory.Usage.Known())
			}
			f.xml = healthy
			c.pass(lastRest)
			after := deviceOf(t, read(t, r), h100First).Epoch
			assert.Equal(t, tt.reload, after > before, "epoch %d, before %d", after, before)
		})
	}
}

func TestBackOff(t *testing.T) {
	f := &tool{xml: answer{err: fmt.Errorf("%w: no nvidia-smi", command.ErrNotFound)}}
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	var looks []time.Duration
	begin := c.now
	for c.now.Sub(begin) < 30*time.Minute {
		n := len(f.batches)
		read(t, r)
		if len(f.batches) > n {
			looks = append(looks, c.now.Sub(begin))
		}
		c.pass(10 * time.Second)
	}
	assert.Equal(t, []time.Duration{
		0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second, 310 * time.Second,
		610 * time.Second, 910 * time.Second, 1210 * time.Second, 1510 * time.Second,
	}, looks)

	healthy := h100Tool(t)
	f.xml, f.list = healthy.xml, healthy.list
	c.pass(lastRest)
	assert.Len(t, read(t, r).Devices, 2, "a tool that was installed later is found")
	f.xml = answer{err: fmt.Errorf("%w: no nvidia-smi", command.ErrNotFound)}
	n := len(f.batches)
	read(t, r)
	c.pass(firstRest)
	read(t, r)
	assert.Len(t, f.batches, n+2, "the pauses begin short again")
}
