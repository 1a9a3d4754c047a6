// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	h100First  = "GPU-58000000-0000-4000-8000-000000000001"
	h100Second = "GPU-58000000-0000-4000-8000-000000000002"
	a100MIG    = "GPU-53500000-0000-4000-8000-000000000001"
	a100Plain  = "GPU-53500000-0000-4000-8000-000000000002"
	migBig     = "MIG-53500000-aaaa-5000-8000-000000000001"
	migSmall   = "MIG-53500000-aaaa-5000-8000-000000000002"
)

func h100Tool(t *testing.T) *tool {
	t.Helper()
	return &tool{
		xml:  file(t, "xml/v13-580.xml"),
		list: answer{stdout: "GPU 0: NVIDIA H100 80GB HBM3 (UUID: " + h100First + ")\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: " + h100Second + ")\n"},
		pmon: answer{stdout: "# gpu pid type sm mem enc dec jpg ofa fb ccpm command\n# Idx # C/G % % % % % % MB MB name\n" +
			"0 990001 C 97 40 - 1 - - 71000 0 VLLM::EngineCor\n0 990002 G - - - - - - 12 0 Xorg\n1 - - - - - - - - - - -\n"},
	}
}

func TestFullRead(t *testing.T) {
	f := h100Tool(t)
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	node := read(t, r)
	assert.Empty(t, problems(node))
	assert.Equal(t, c.now, node.Time)
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.Equal(t, counts(2, 0), presence(node))

	d := deviceOf(t, node, h100First)
	assert.Equal(t, "nvidia0", d.Name)
	assert.Equal(t, gpu.Some(0), d.Index)
	assert.Equal(t, "580.95.05", d.Info.DriverVersion)
	assert.Equal(t, gpu.Some(697.12), d.Power.Draw)
	assert.Equal(t, gpu.PCIe{
		Generation: gpu.Some(int64(5)), GenerationLimit: gpu.Some(int64(5)), Width: gpu.Some(int64(16)), WidthLimit: gpu.Some(int64(16)),
	}, d.PCIe, "rates of transfer are no counters of bytes")

	p := processOf(t, node, h100First, 990001)
	assert.Equal(t, gpu.Some(int64(70990<<20)), p.Memory, "the listing's, not pmon's")
	assert.Equal(t, gpu.Some(0.97), p.Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.Some(0.01), p.Utilization[gpu.TaskDecoder])
	assert.False(t, p.Utilization[gpu.TaskEncoder].Known())
	assert.Equal(t, "VLLM::EngineCore", p.Executable, "the listing's, not the shortened one")
	p = processOf(t, node, h100First, 990002)
	assert.Equal(t, gpu.ProcessGraphics, p.Type)
	assert.Equal(t, gpu.Some(int64(12<<20)), p.Memory)
	assert.Len(t, node.Processes, 2)

	read(t, r)
	assert.Equal(t, [][]string{{"xml", "pmon", "list", "identity"}, {"xml", "pmon"}}, f.batches, "one Run a read")
	require.NoError(t, r.Close())
}

func TestFullReadOfEveryShape(t *testing.T) {
	for _, name := range []string{"v9-384", "v10-418", "v11-470", "v12-525", "v12-535-mig", "v13-591-wddm", "v14-future"} {
		t.Run(name, func(t *testing.T) {
			node := read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/"+name+".xml"), list: answer{stdout: "GPU 0: x (UUID: GPU-x)\n"}}, newClock()))
			assert.NotEmpty(t, node.Devices)
			seen := map[string]bool{}
			for _, d := range node.Devices {
				assert.NotEmpty(t, d.ID)
				assert.NotEmpty(t, d.Name)
				assert.False(t, seen[d.ID])
				seen[d.ID] = true
			}
			for _, p := range node.Processes {
				assert.True(t, seen[p.DeviceID], "process %d is on %q, which is no device", p.PID, p.DeviceID)
			}
		})
	}
}

func TestNamesAreThoseOfTheDeviceNodes(t *testing.T) {
	f := &tool{xml: file(t, "xml/v10-418.xml"), list: answer{stdout: "GPU 0: a (UUID: GPU-41800000-0000-4000-8000-000000000001)\nGPU 1: a (UUID: GPU-41800000-0000-4000-8000-000000000002)\n"}}
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, "nvidia1", node.Devices[0].Name, "index 0 has minor number 1")
	assert.Equal(t, gpu.Some(0), node.Devices[0].Index)
	node = read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/v13-591-wddm.xml")}, newClock()))
	assert.Equal(t, "nvidia0", node.Devices[0].Name, "without a minor number it is the index")
}

func TestRefusedQuantitiesAreProblems(t *testing.T) {
	node := read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/v10-418.xml"), list: answer{stdout: "GPU 0: a (UUID: GPU-a)\n"}}, newClock()))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "GPU-41800000-0000-4000-8000-000000000002", node.Problems[0].Device)
	assert.Equal(t, "fan.speed, utilization.gpu, temperature.gpu", node.Problems[0].What)
	require.ErrorContains(t, node.Problems[0].Err, "Unknown Error; see the kernel log")

	node = read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/v11-470.xml"), list: answer{stdout: "GPU 0: a (UUID: GPU-a)\n"}}, newClock()))
	assert.Contains(t, problems(node), "process.used_memory: Insufficient Permissions; run it as root, or outside of a container that hides them, "+
		"or there, with MIG enabled, with NVIDIA_MIG_MONITOR_DEVICES=all and CAP_SYS_ADMIN")
}

func TestProcessesThatNobodyWantsAreNotRead(t *testing.T) {
	f := h100Tool(t)
	f.t = t
	r := New(Config{Query: QueryFull}, f, gpu.GroupAll&^(gpu.GroupProcesses|gpu.GroupProcessUtilization))
	node := read(t, r)
	assert.Empty(t, node.Processes)
	assert.Equal(t, [][]string{{"xml", "list", "identity"}}, f.batches)
}

func TestPmonThatIsNotSupportedIsNotAskedEachTime(t *testing.T) {
	f := h100Tool(t)
	f.pmon = answer{stdout: "The feature is not supported in this configuration\nNot supported on the device(s)\nFailed to process command line\n", exit: 255}
	r := newReader(t, QueryFull, f, newClock())
	for range 3 {
		node := read(t, r)
		assert.Len(t, node.Devices, 2)
		assert.Contains(t, problems(node), "pmon: The feature is not supported in this configuration")
		assert.Len(t, node.Processes, 1, "the listing's processes are there")
	}
	assert.Equal(t, [][]string{{"xml", "pmon", "list", "identity"}, {"xml"}, {"xml"}}, f.batches)

	f.xml.stdout = strings.Replace(f.xml.stdout, "580.95.05", "581.01", 1)
	f.pmon = answer{stdout: "# gpu pid type sm command\n"}
	read(t, r)
	node := read(t, r)
	assert.Empty(t, problems(node))
	assert.Equal(t, []string{"xml", "pmon"}, f.batches[len(f.batches)-1], "another version is asked again")
}

func TestPmonFailsAlone(t *testing.T) {
	for name, a := range map[string]answer{
		"hangs":     {err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)},
		"garbage":   {stdout: "\x00\x01", exit: 1},
		"truncated": {stdout: "# gpu pid ty", truncated: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			f.pmon = a
			node := read(t, newReader(t, QueryFull, f, newClock()))
			assert.Len(t, node.Devices, 2)
			assert.Equal(t, gpu.StateOK, (&gpu.Device{Faults: nil}).State())
			assert.NotContains(t, faults(&node.Devices[0]), gpu.FaultHung)
			assert.Contains(t, problems(node), "process utilization | nvidia-smi pmon")
			assert.Len(t, node.Processes, 1)
		})
	}
}

func TestReadThatIsNoReading(t *testing.T) {
	for name, tt := range map[string]struct {
		xml  answer
		want string
	}{
		"garbage":     {answer{stdout: "<html>502</html>"}, "no nvidia_smi_log in 16 bytes"},
		"empty":       {answer{}, "no nvidia_smi_log in 0 bytes"},
		"unreachable": {answer{err: errors.New("dial tcp: connection refused")}, "connection refused"},
		"cut off":     {answer{stdout: "<nvidia_smi_log><gpu id=\"00000000:1B:00.0\"><uuid>GPU-1</uu"}, "the output ends before the end of the first GPU"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReader(t, QueryFull, &tool{xml: tt.xml}, newClock())
			node, err := r.Read(t.Context())
			assert.Nil(t, node)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestCancelledRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newReader(t, QueryFull, h100Tool(t), newClock()).Read(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTrapHalfAnOutput(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml.stdout = f.xml.stdout[:strings.LastIndex(f.xml.stdout, "<remapped_rows>")]
	f.xml.truncated = true
	node := read(t, r)
	assert.Equal(t, []string{h100First}, ids(node), "a GPU that was cut off is neither read nor lost")
	assert.Contains(t, problems(node), "the output ends early")
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))
}

func TestExitCodeBesideData(t *testing.T) {
	f := h100Tool(t)
	f.xml.exit = 14
	f.xml.stdout += "\nWARNING: infoROM is corrupted at gpu 0000:1B:00.0\n"
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Len(t, node.Devices, 2)
	require.Len(t, node.Problems, 1)
	assert.Equal(t, h100First, node.Problems[0].Device)
	assert.Equal(t, "infoROM", node.Problems[0].What)

	f = h100Tool(t)
	f.xml.exit = 255
	node = read(t, newReader(t, QueryFull, f, newClock()))
	assert.Len(t, node.Devices, 2)
	assert.Contains(t, problems(node), "it lists GPUs but reports: exit code 255")
}

func TestNodeIsReused(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	first := read(t, r)
	require.NotEmpty(t, first.Processes)
	f.pmon = answer{stdout: "# gpu pid type sm command\n"}
	f.xml.stdout = strings.Replace(f.xml.stdout, "<pid>990001</pid>", "<pid>990003</pid>", 1)
	second := read(t, r)
	require.Len(t, second.Processes, 1)
	assert.Equal(t, int64(990003), second.Processes[0].PID)
	assert.Equal(t, [gpu.NumTasks]gpu.Opt[float64]{}, second.Processes[0].Utilization, "left over from the read before")
	assert.Len(t, second.Devices, 2)
}

func TestConfig(t *testing.T) {
	cfg := DefaultConfig()
	require.NoError(t, cfg.Check())
	assert.Equal(t, QueryFull, cfg.Query)
	_, err := NewLocal(Config{Query: "quick"}, gpu.GroupAll)
	require.ErrorContains(t, err, `query: "quick" must be full or fast`)
	_, err = NewLocal(Config{Query: QueryFast, Path: "/usr/bin/true"}, gpu.GroupAll)
	require.ErrorContains(t, err, "path: ")
	r, err := NewLocal(Config{Query: QueryFast}, gpu.GroupAll)
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

func TestLocalReaderWithoutTheTool(t *testing.T) {
	path := t.TempDir() + "/nvidia-smi"
	r, err := NewLocal(Config{Query: QueryFull, Path: path}, gpu.GroupAll)
	if err != nil {
		t.Skip("paths have another form on this system")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	node, err := r.Read(ctx)
	require.NoError(t, err)
	assert.Empty(t, node.Devices)
	assert.Contains(t, problems(node), path)
}

// BenchmarkRead is everything but the tool: 8 GPUs, and what is made of them.
func BenchmarkRead(b *testing.B) {
	data, err := os.ReadFile("parse/testdata/xml/v13-580.xml")
	require.NoError(b, err)
	head, rest, _ := strings.Cut(string(data), "\t<gpu id=\"00000000:1B:00.0\">")
	one, _, _ := strings.Cut(rest, "</gpu>")
	var xml strings.Builder
	xml.WriteString(head)
	for i := range 8 {
		name := strings.NewReplacer("1B:00.0", fmt.Sprintf("%02X:00.0", i), "000000000001", fmt.Sprintf("%012d", i))
		xml.WriteString(name.Replace("\t<gpu id=\"00000000:1B:00.0\">" + one + "</gpu>\n"))
	}
	xml.WriteString("</nvidia_smi_log>\n")
	canned := []command.Result{
		{Stdout: []byte(xml.String())},
		{Stdout: []byte("# gpu pid type sm mem enc dec fb command\n0 990001 C 97 40 - 1 100 x\n")},
		{Stdout: []byte("GPU 0: a (UUID: GPU-58000000-0000-4000-8000-000000000000)\n")},
		{},
	}
	r := New(DefaultConfig(), cannedRunner(canned), gpu.GroupAll)
	b.ReportAllocs()
	for b.Loop() {
		node, err := r.Read(b.Context())
		if err != nil || len(node.Devices) != 8 || len(node.Processes) != 8 {
			b.Fatal(err)
		}
	}
}

// cannedRunner answers the commands of a batch one after the other.
type cannedRunner []command.Result

func (c cannedRunner) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	return c[:len(commands)], nil
}
