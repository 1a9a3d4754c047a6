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
	assert.Equal(t, gpu.Some(0), d.CurrentIndex)
	assert.Equal(t, gpu.Some(1), deviceOf(t, node, h100Second).CurrentIndex)
	assert.Equal(t, "580.95.05", d.Info.DriverVersion)
	assert.Equal(t, gpu.Some(697.12), d.Power.Draw)
	assert.Equal(t, gpu.PCIe{
		Generation: gpu.Some(int64(5)), GenerationLimit: gpu.Some(int64(5)), Width: gpu.Some(int64(16)), WidthLimit: gpu.Some(int64(16)),
		Replays: gpu.Total[int64](151), ReplayRollovers: gpu.Total[int64](4),
	}, d.PCIe, "transfer rates are taken for byte counters")

	p := processOf(t, node, h100First, 990001)
	assert.Equal(t, gpu.Some(int64(70990<<20)), p.Memory, "memory of pmon, not of the listing")
	assert.Equal(t, gpu.Some(0.97), p.Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.Some(0.4), p.MemoryController)
	assert.Equal(t, gpu.Some(0.01), p.Utilization[gpu.TaskDecoder])
	assert.False(t, p.Utilization[gpu.TaskEncoder].Known())
	assert.Equal(t, "VLLM::EngineCore", p.Executable, "the shortened name, not that of the listing")
	p = processOf(t, node, h100First, 990002)
	assert.Equal(t, gpu.ProcessGraphics, p.Type)
	assert.Equal(t, gpu.Some(int64(12<<20)), p.Memory)
	assert.Len(t, node.Processes, 2)

	read(t, r)
	assert.Equal(t, [][]string{{"xml", "pmon", "list", "identity"}, {"xml", "pmon"}}, f.batches, "one Run a read")
	require.NoError(t, r.Close())
}

func TestFullReadOfEveryVersion(t *testing.T) {
	for _, name := range []string{"v9-384", "v10-418", "v11-470", "v12-525", "v12-535-mig", "v13-591-wddm", "v14-future"} {
		t.Run(name, func(t *testing.T) {
			node := read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/"+name+".xml"), list: answer{stdout: "GPU 0: x (UUID: GPU-x)\n"}}, newClock()))
			assert.NotEmpty(t, node.Devices)
			seen := map[string]bool{}
			for _, d := range node.Devices {
				assert.NotEmpty(t, d.ID)
				assert.Equal(t, name == "v13-591-wddm", d.Name == "", "only Windows has no device nodes")
				assert.False(t, seen[d.ID])
				seen[d.ID] = true
			}
			for _, p := range node.Processes {
				assert.True(t, seen[p.DeviceID], "process %d is on %q, which is no device", p.PID, p.DeviceID)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		xml    answer
		reason gpu.FailureReason
		want   string
	}{
		"garbage":     {answer{stdout: "<html>502</html>"}, gpu.FailureOutput, "no nvidia_smi_log in 16 bytes"},
		"empty":       {answer{}, gpu.FailureOutput, "no nvidia_smi_log in 0 bytes"},
		"unreachable": {answer{err: errors.New("dial tcp: connection refused")}, gpu.FailureOther, "connection refused"},
		"cut off":     {answer{stdout: "<nvidia_smi_log><gpu id=\"00000000:1B:00.0\"><uuid>GPU-1</uu"}, gpu.FailureToolFailed, "the output ends before the end of the first GPU"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReader(t, QueryFull, &tool{xml: tt.xml}, newClock())
			node, err := r.Read(t.Context())
			assert.Nil(t, node)
			require.ErrorContains(t, err, tt.want)
			assert.Equal(t, tt.reason, gpu.FailureOf(err).Reason)
			if tt.xml.err != nil {
				return
			}

			f := h100Tool(t)
			r = newReader(t, QueryFull, f, newClock())
			read(t, r)
			f.xml = tt.xml
			node = read(t, r)
			assert.Equal(t, tt.reason, failureOf(node), "the known GPUs stay")
			assert.Equal(t, []string{h100First, h100Second}, ids(node))
			assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))
			for i := range node.Devices {
				d := &node.Devices[i]
				assert.True(t, d.Unread)
				assert.Empty(t, d.Faults)
				assert.Equal(t, "580.95.05", d.Info.DriverVersion)
			}
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, tt.want)
		})
	}
}

func TestCancelledRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newReader(t, QueryFull, h100Tool(t), newClock()).Read(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNodesOfTwoReads(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	first := read(t, r)
	require.NotEmpty(t, first.Processes)
	f.pmon = answer{stdout: "# gpu pid type sm command\n"}
	f.xml.stdout = strings.Replace(f.xml.stdout, "<pid>990001</pid>", "<pid>990003</pid>", 1)
	second := read(t, r)
	require.Len(t, second.Processes, 1)
	assert.Equal(t, int64(990003), second.Processes[0].PID)
	assert.Equal(t, [gpu.NumTasks]gpu.Opt[float64]{}, second.Processes[0].Utilization, "a value of the read before")
	assert.Len(t, second.Devices, 2)
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

// After a Reset the version is queried again, which may have other fields, and counters start again. The GPUs stay known, so that
// one that is lost is reported.
func TestReset(t *testing.T) {
	f := tableTool(t, []string{"index", "uuid", "pci.bus_id", "driver_version", "temperature.gpu"})
	f.pmon = answer{stdout: "Not supported on the device(s)\n", exit: 3}
	r := newReader(t, QueryFast, f, newClock())
	r.Reset()
	before := deviceOf(t, read(t, r), "GPU-a").Epoch
	assert.Zero(t, before, "nothing was read before")
	assert.Equal(t, before, deviceOf(t, read(t, r), "GPU-a").Epoch)
	assert.Equal(t, [][]string{{"help"}, {"table", "apps", "pmon", "rows"}, {"xml"}, {"table", "apps"}}, f.batches)

	other := tableTool(t, []string{"index", "uuid", "pci.bus_id", "driver_version", "power.limit"})
	f.help, f.table, f.pmon, f.batches = other.help, other.table, other.pmon, nil
	r.Reset()
	node := read(t, r)
	assert.Equal(t, [][]string{{"help"}, {"table", "apps", "pmon", "rows"}, {"xml"}}, f.batches)
	d := deviceOf(t, node, "GPU-a")
	assert.Equal(t, gpu.Some(400.0), d.Power.Limit[gpu.LimitEnforced])
	after := d.Epoch
	assert.Greater(t, after, before)
	assert.Equal(t, after, deviceOf(t, read(t, r), "GPU-a").Epoch, "once")

	f.table = func(fields []string) answer {
		a := other.table(fields)
		a.stdout = a.stdout[:len(a.stdout)-len("1, GPU-b, 00000000:0B:00.0, 550.1, 400.00 W\n")]
		return a
	}
	r.Reset()
	node = read(t, r)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, node, "GPU-b")))
}

// BenchmarkRead measures a read of 8 GPUs without the tool.
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

// cannedRunner returns the same results for every batch.
type cannedRunner []command.Result

func (c cannedRunner) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	return c[:len(commands)], nil
}
