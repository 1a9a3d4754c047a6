// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestAMDFailures(t *testing.T) {
	t.Parallel()
	const list = `[{"gpu": 0, "bdf": "0000:03:00.0", "uuid": "32ff740f-0000-1000-80a4-d3d61bfc2208"}, {"gpu": 1, "bdf": "0000:04:00.0", "uuid": "N/A"}]`
	const metric = `[{"gpu": 0, "usage": {"gfx_activity": {"value": 5, "unit": "%"}}}, {"gpu": 1, "usage": {"gfx_activity": {"value": 6, "unit": "%"}}}]`
	on := func(name string, r func() (command.Result, error)) func(string) (command.Result, error) {
		return func(args string) (command.Result, error) {
			switch {
			case strings.HasPrefix(args, name):
				return r()
			case strings.HasPrefix(args, "list"):
				return prints(list)
			case strings.HasPrefix(args, "metric"):
				return prints(metric)
			default:
				return prints("[]")
			}
		}
	}
	for _, tt := range []struct {
		name     string
		answer   func(args string) (command.Result, error)
		err      string
		problem  string
		devices  int
		values   int // devices with a utilization
		patience bool
	}{
		{
			name: "no tool",
			answer: func(string) (command.Result, error) {
				return command.Result{}, errors.Join(command.ErrNotFound, errors.New("no amd-smi in /opt/rocm/bin"))
			},
			problem: "no amd-smi in /opt/rocm/bin",
		},
		{name: "hangs, and no GPU is known", answer: func(string) (command.Result, error) { return command.Result{}, command.ErrTimeout }, err: "did not end in time"},
		{
			name: "metric hangs", answer: on("metric", func() (command.Result, error) { return command.Result{}, command.ErrTimeout }),
			problem: "later commands: amd_smi: tool did not end in time", devices: 2,
		},
		{
			name: "process hangs", answer: on("process", func() (command.Result, error) { return command.Result{}, command.ErrTimeout }),
			problem: "later commands: amd_smi: tool did not end in time", devices: 2, values: 2,
		},
		{
			name: "no driver",
			answer: func(string) (command.Result, error) {
				return fails(255, "ERROR: Unable to get devices, driver not initialized (amdgpu not found in modules)\n"+
					"ERROR: Unable to detect any GPU devices, check amdgpu version and module status\n", "")
			},
			problem: "the amdgpu driver is not loaded", patience: true,
		},
		{name: "no GPU", answer: on("list", func() (command.Result, error) { return prints("[]") }), problem: "the driver has no GPU", patience: true},
		{
			name: "not permitted",
			answer: on("list", func() (command.Result, error) {
				return fails(1, "", "Traceback\namdsmi.AmdSmiLibraryException: 10 | AMDSMI_STATUS_NO_PERM - Permission Denied\n")
			}),
			problem: "groups render and video", patience: true,
		},
		{
			name:   "an error in JSON",
			answer: on("list", func() (command.Result, error) { return prints(`{"error": "Driver hiccup", "code": -30}`) }),
			err:    "amd_smi: amd-smi list: Driver hiccup",
		},
		{
			name:   "an error in JSON on stderr",
			answer: on("list", func() (command.Result, error) { return fails(5, "", `{"error": "Driver hiccup", "code": 30}`) }),
			err:    "amd_smi: amd-smi list: Driver hiccup",
		},
		{
			name: "metric dies in the second device", answer: on("metric -u", func() (command.Result, error) { return fails(-1, metric[:len(metric)-20], "") }),
			problem: "metric: amd_smi: amd-smi metric: output ends in the middle", devices: 2, values: 1,
		},
		{
			name: "metric dies in the second device, in an envelope",
			answer: on("metric -u", func() (command.Result, error) {
				return fails(-1, `{"cpu_data": [], "gpu_data": `+metric[:len(metric)-20], "")
			}),
			problem: "metric: amd_smi: amd-smi metric: output ends in the middle", devices: 2, values: 1,
		},
		{
			name: "metric is no JSON", answer: on("metric -u", func() (command.Result, error) { return prints("GPU: 0\n    USAGE:\n") }),
			problem: "metric: amd_smi: amd-smi metric: exit code 0: output is not JSON", devices: 2,
		},
		{
			name: "list dies in the second device", answer: on("list", func() (command.Result, error) { return fails(-1, list[:len(list)-10], "") }),
			problem: "list: amd_smi: amd-smi list: output ends in the middle", devices: 1, values: 1,
		},
		{
			name: "exit code 1 with an answer", answer: on("metric -u", func() (command.Result, error) { return fails(1, metric, "") }),
			devices: 2, values: 2,
		},
		{
			name: "no section", answer: on("metric -u", func() (command.Result, error) {
				return prints(`[{"gpu": 0, "usage": "N/A", "power": null, "clock": [], "fan": 3, "ecc_blocks": "N/A", "throttle": {"ppt_violation_status": {}}}, {"gpu": "1"}, 7, null, {"gpu": 99}]`)
			}), devices: 2,
		},
		{
			name: "neither id nor address", answer: on("list", func() (command.Result, error) {
				return prints(`[{"gpu": 0, "bdf": "N/A", "uuid": "N/A"}, {"gpu": 1, "bdf": "0000:04:00.0"}, {"gpu": -1}, {}]`)
			}), problem: "neither a unique id nor a PCI address of GPU 0", devices: 1, values: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := &fakeTool{answer: tt.answer}
			s := testAMD(tool)
			node, err := s.Read(t.Context())
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				require.ErrorContains(t, err, "amd_smi: ")
				return
			}
			require.NoError(t, err)
			require.Len(t, node.Devices, tt.devices)
			values := 0
			for i := range node.Devices {
				if node.Devices[i].Utilization[gpu.TaskGeneral].Known() {
					values++
				}
			}
			require.Equal(t, tt.values, values)
			if tt.problem != "" {
				require.Contains(t, problems(node), tt.problem)
			}
			before := len(tool.runs)
			for range 40 {
				again := read(t, s)
				if tt.problem != "" {
					require.Contains(t, problems(again), tt.problem, "a problem is there as long as it holds")
				}
			}
			if tt.patience {
				assert.Less(t, len(tool.runs)-before, 10)
			}
		})
	}
}

// An exception in one section costs the whole output: it is asked for less, and for all again later.
func TestAMDExceptions(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-6.0", "-e", "--throttle")
	files := tool.answer
	broken := true
	tool.answer = func(args string) (command.Result, error) {
		if broken && (strings.Contains(args, "-k") || args == "static --json" || strings.HasPrefix(args, "xgmi")) {
			return fails(1, "Failed to open file\n", "Traceback (most recent call last):\n  File\nUnboundLocalError: cannot access local variable\n")
		}
		return files(args)
	}
	s := testAMD(tool)
	node := read(t, s)
	assert.Contains(t, problems(node), "static: amd_smi: amd-smi static ends with an exception, and is asked for less: exit code 1: output is not JSON")
	assert.Contains(t, problems(node), "metric: amd_smi: amd-smi metric ends with an exception")
	assert.NotContains(t, problems(node), "xgmi", "not every machine has it")
	d := &node.Devices[0]
	assert.Equal(t, "MI210", d.Model)
	requireNear(t, 0.87, d.Utilization[gpu.TaskGeneral], "utilization")

	tool.runs = nil
	for range staticEvery {
		assert.Len(t, read(t, s).Problems, 2, "as long as it holds")
	}
	require.Len(t, tool.runs, staticEvery)
	assert.Equal(t, []string{"list --json", "metric -u -m -p -t --json", "process --json", "metric -P --json"}, tool.runs[0])
	broken = false
	node = read(t, s)
	assert.Empty(t, problems(node))
	assert.Contains(t, tool.runs[len(tool.runs)-1], "metric -u -m -p -t -c -k -f -E --json", "all that it knows, again")
}

// That a device is busy is no property of the tool's version: what could not be told on its account is asked again.
func TestAMDPassingErrors(t *testing.T) {
	t.Parallel()
	for call, known := range map[string]func(d *gpu.Device) bool{
		"xgmi":      func(d *gpu.Device) bool { return d.Interconnect.Received.Known() },
		"metric -P": func(d *gpu.Device) bool { return d.PCIe.Width.Known() },
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			tool := amdTool(t, "amd-smi-7.0-dpx")
			answer, busy := tool.answer, true
			tool.answer = func(args string) (command.Result, error) {
				if busy && strings.HasPrefix(args, call) {
					return prints(`{"error": "AMDSMI has returned error '-30' - 'AMDSMI_STATUS_BUSY - Device busy'", "code": -1030}`)
				}
				return answer(args)
			}
			s := testAMD(tool)
			require.False(t, known(&read(t, s).Devices[0]))
			busy = false
			for range staticEvery {
				read(t, s)
			}
			require.True(t, known(&read(t, s).Devices[0]))
		})
	}
}
