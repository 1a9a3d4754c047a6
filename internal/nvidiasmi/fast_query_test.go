// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// tableTool answers --query-gpu with a heading and rows for the queried fields, as a version that has the fields does.
func tableTool(t *testing.T, known []string) *tool {
	t.Helper()
	f := &tool{
		xml:  minorsXML("1", "0"),
		apps: answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n100, GPU-a, 500 MiB, /usr/bin/python3\n101, GPU-b, [N/A], [Not Found]\n"},
		pmon: answer{stdout: "# gpu pid type sm mem enc dec fb command\n0 100 C 50 3 - - 498 python3\n0 102 G 1 - - - 20 Xorg\n1 101 C+G - - 7 - 30 tool\n3 9 C 1 1 1 1 1 none\n"},
	}
	var help strings.Builder
	for _, n := range known {
		fmt.Fprintf(&help, "%q\nWhat it is.\n\n", n)
	}
	f.help = answer{stdout: help.String()}
	values := map[string][2]string{
		"index": {"0", "1"}, "uuid": {"GPU-a", "GPU-b"}, "gpu_uuid": {"GPU-a", "GPU-b"}, "pci.bus_id": {"00000000:0A:00.0", "00000000:0B:00.0"},
		"driver_version": {"550.1", "550.1"}, "mig.mode.current": {"[N/A]", "Disabled"}, "name": {"A, B", "A"}, "count": {"2", "2"},
		"temperature.gpu": {"50", "51"}, "temperature.gpu.tlimit": {"30", "[N/A]"}, "memory.used": {"600 MiB", "31 MiB"}, "utilization.gpu": {"50 %", "[N/A]"}, "power.limit": {"400.00 W", "400.00 W"},
	}
	f.table = func(fields []string) answer {
		var rows [2][]string
		for _, n := range fields {
			if !slices.Contains(known, n) {
				return answer{stdout: fmt.Sprintf("Field %q is not a valid field to query.\n\n", n), exit: 2}
			}
			v, ok := values[n]
			if !ok {
				v = [2]string{"[N/A]", "[N/A]"}
			}
			rows[0], rows[1] = append(rows[0], v[0]), append(rows[1], v[1])
		}
		return answer{stdout: strings.Join(fields, ", ") + "\n" + strings.Join(rows[0], ", ") + "\n" + strings.Join(rows[1], ", ") + "\n"}
	}
	return f
}

// minorsXML returns a listing in XML with the minor numbers of the GPUs' device nodes.
func minorsXML(minors ...string) answer {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n\t<driver_version>550.1</driver_version>\n")
	for i, minor := range minors {
		fmt.Fprintf(&b, "\t<gpu id=\"00000000:%02X:00.0\">\n\t\t<product_name>A</product_name>\n\t\t<uuid>GPU-%c</uuid>\n\t\t<minor_number>%s</minor_number>\n"+
			"\t\t<temperature><gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold></temperature>\n\t</gpu>\n", 0x0a+i, 'a'+i, minor)
	}
	return answer{stdout: b.String() + "</nvidia_smi_log>\n"}
}

func TestFastRead(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	node := read(t, r)
	assert.Empty(t, problems(node))
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
	assert.Equal(t, counts(2, 0), presence(node))
	d := deviceOf(t, node, "GPU-a")
	assert.Equal(t, "nvidia1", d.Name, "index 0 has minor number 1")
	assert.Equal(t, gpu.Some(0), d.CurrentIndex)
	assert.Equal(t, gpu.Some(0), d.Index)
	assert.Equal(t, "A, B", d.Model)
	assert.Equal(t, gpu.Some(50.0), d.Temperature[gpu.SensorGPU])
	assert.Equal(t, [gpu.NumLimits]gpu.Opt[float64]{gpu.LimitDegraded: gpu.Some(32.0)}, d.TemperatureMargin, "-q -x has the points on the scale of T.Limit")
	assert.Equal(t, gpu.Some(400.0), d.Power.Limit[gpu.LimitEnforced])

	p := processOf(t, node, "GPU-a", 100)
	assert.Equal(t, gpu.Process{
		PID: 100, DeviceID: "GPU-a", Type: gpu.ProcessCompute, Memory: gpu.Some(int64(500 << 20)), Executable: "python3", Command: "/usr/bin/python3",
		Utilization: [gpu.NumTasks]gpu.Opt[float64]{gpu.TaskGeneral: gpu.Some(0.5)}, MemoryController: gpu.Some(0.03),
	}, *p)
	p = processOf(t, node, "GPU-b", 101)
	assert.Equal(t, gpu.ProcessComputeGraphics, p.Type)
	assert.Equal(t, gpu.Some(int64(30<<20)), p.Memory, "where the table has none")
	assert.Equal(t, "tool", p.Executable)
	processOf(t, node, "GPU-a", 102)
	assert.Len(t, node.Processes, 3, "a process on a GPU that is not listed is on no device")

	read(t, r)
	assert.Equal(t, [][]string{{"help"}, {"table", "apps", "pmon"}, {"xml"}, {"table", "apps", "pmon"}}, f.batches, "one Run a read, the help and the XML once")
}

func TestFastLostGPU(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		rows := strings.SplitAfter(a.stdout, "\n")
		return answer{stdout: "Unable to determine the device handle for GPU1: 0000:0B:00.0: Unknown Error\n" + rows[0] + rows[1], exit: 255}
	}
	node := read(t, r)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, "GPU-b")))
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Empty(t, problems(node))

	f.table = func(fields []string) answer {
		a := table(fields)
		index := strings.LastIndex(a.stdout, "\n1, ")
		a.stdout = a.stdout[:index] + strings.ReplaceAll(a.stdout[index:], "[N/A]", "[GPU requires reset]")
		return a
	}
	node = read(t, r)
	d := deviceOf(t, node, "GPU-b")
	assert.Equal(t, []gpu.FaultType{gpu.FaultResetRequired}, faults(d))
	assert.Empty(t, problems(node), "the fault says why")
	assert.Equal(t, gpu.Memory{Usage: gpu.Some[int64](31 << 20)}, d.Memory, "what the driver still answers is read")
	assert.Equal(t, counts(2, 0), presence(node), "it is listed")
	assert.True(t, d.ProcessesUnread)
	assert.Equal(t, "nvidia0", d.Name)
	before := d.Epoch
	assert.Equal(t, before, deviceOf(t, read(t, r), "GPU-b").Epoch, "its counters go on until it is reset")

	f.table = table
	d = deviceOf(t, read(t, r), "GPU-b")
	assert.Empty(t, d.Faults)
	assert.Greater(t, d.Epoch, before, "it was reset")
}

func TestFastFailures(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	f.table = func([]string) answer { return answer{err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)} }
	node := read(t, r)
	assert.Equal(t, gpu.FailureTimeout, failureOf(node))
	assert.True(t, deviceOf(t, node, "GPU-a").Unread)

	f.table = func([]string) answer { return answer{stdout: "0, 1\n"} }
	node = read(t, r)
	require.Equal(t, gpu.FailureOutput, failureOf(node))
	require.ErrorContains(t, node.Failure, "nvidia-smi --query-gpu: no table in 5 bytes")
	assert.True(t, deviceOf(t, node, "GPU-a").Unread)

	f.table = func([]string) answer {
		return answer{stdout: "Failed to initialize NVML: Driver/library version mismatch\n", exit: 18}
	}
	assert.Equal(t, []gpu.FaultType{gpu.FaultDriverMismatch}, faults(deviceOf(t, read(t, r), "GPU-b")))

	fresh := newReader(t, QueryFast, &tool{help: answer{err: fmt.Errorf("%w: nowhere", command.ErrNotFound)}}, newClock())
	assert.Contains(t, problems(read(t, fresh)), "nowhere")
}

func TestFastProcessesFailAlone(t *testing.T) {
	f := tableTool(t, allNames())
	f.apps = answer{stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255}
	node := read(t, newReader(t, QueryFast, f, newClock()))
	assert.Len(t, node.Devices, 2)
	assert.Contains(t, problems(node), "--query-compute-apps: Failed to initialize NVML: Unknown Error")
	processOf(t, node, "GPU-a", 100)

	f = tableTool(t, allNames())
	f.apps = answer{err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)}
	node = read(t, newReader(t, QueryFast, f, newClock()))
	assert.Len(t, node.Devices, 2)
	assert.Contains(t, problems(node), "processes | nvidia-smi --query-compute-apps")
	assert.Contains(t, problems(node), "process utilization | nvidia-smi pmon")
	assert.True(t, node.HasProblem(gpu.ProblemProcesses))
}

func TestFastTruncated(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		a.stdout, a.truncated = a.stdout[:len(a.stdout)-2], true
		return a
	}
	node := read(t, r)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
	assert.True(t, deviceOf(t, node, "GPU-b").Unread, "a GPU in a row that was cut off is read or lost")
	assert.Contains(t, problems(node), "the output ends early")
}

func TestFastReadsOnlyWhatIsWanted(t *testing.T) {
	f := tableTool(t, allNames())
	f.t = t
	read(t, New(Config{Query: QueryFast}, f, gpu.GroupTemperature))
	assert.Equal(t, [][]string{{"help"}, {"table"}, {"xml"}}, f.batches)
	assert.Contains(t, f.tables[0], "temperature.gpu")
	assert.Contains(t, f.tables[0], "uuid")
	assert.NotContains(t, f.tables[0], "power.draw")
}

// The GPU of a Jetson has a UUID without a prefix, no PCI address, and few values (nvidia-smi 540 on Orin).
func TestTrapUUIDWithoutPrefix(t *testing.T) {
	const uuid = "0dea0000-1111-5222-8333-444455556666"
	f := tableTool(t, allNames())
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		heading, rows, _ := strings.Cut(a.stdout, "\n")
		row, _, _ := strings.Cut(rows, "\n")
		return answer{stdout: heading + "\n" + strings.NewReplacer("GPU-a", uuid, "00000000:0A:00.0", "[N/A]", "50 %", "[N/A]").Replace(row) + "\n"}
	}
	f.xml = answer{stdout: "<nvidia_smi_log>\n<driver_version>540.4.0</driver_version>\n<attached_gpus>1</attached_gpus>\n<gpu id=\"N/A\">\n" +
		"<product_name>Orin (nvgpu)</product_name>\n<uuid>" + uuid + "</uuid>\n<minor_number>N/A</minor_number>\n</gpu>\n</nvidia_smi_log>\n"}
	f.list = answer{stdout: "GPU 0: Orin (nvgpu) (UUID: " + uuid + ")\n"}
	for _, query := range []string{QueryFull, QueryFast} {
		node := read(t, newReader(t, query, f, newClock()))
		assert.Equal(t, []string{uuid}, ids(node))
		assert.Equal(t, gpu.StateOK, node.Devices[0].State())
		assert.Equal(t, gpu.Some(int64(1)), node.Presence[gpu.Visible])
		assert.Empty(t, node.Devices[0].Name, "it has no device node of this kind")
		assert.NotContains(t, problems(node), "uuid")
	}
}

// A GPU with an error in the place of every reading is failed and missing, and the others are not.
func TestEveryReadingFails(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	before := *deviceOf(t, read(t, r), "GPU-b")
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		rows := strings.SplitAfter(a.stdout, "\n")
		for i, cell := range []string{"51", "31 MiB", "400.00 W"} {
			rows[2] = strings.Replace(rows[2], cell, []string{"[Unknown Error]", "ERR!", "[Unknown Error]"}[i], 1)
		}
		return answer{stdout: strings.Join(rows, "")}
	}
	node := read(t, r)
	assert.Nil(t, node.Failure, "the others are read")
	assert.Equal(t, counts(1, 1), presence(node))
	d := deviceOf(t, node, "GPU-b")
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(d))
	assert.Equal(t, gpu.StateFailed, d.State())
	assert.Equal(t, before.Info, d.Info)
	assert.True(t, d.ProcessesUnread)
	assert.Equal(t, gpu.StateOK, deviceOf(t, node, "GPU-a").State())
}
