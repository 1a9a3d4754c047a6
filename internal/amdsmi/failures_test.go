// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	const list = `[{"gpu": 0, "bdf": "0000:03:00.0", "uuid": "32ff740f-0000-1000-80a4-d3d61bfc2208"}, {"gpu": 1, "bdf": "0000:04:00.0", "uuid": "N/A"}]`
	const metric = `[{"gpu": 0, "usage": {"gfx_activity": {"value": 5, "unit": "%"}}}, {"gpu": 1, "usage": {"gfx_activity": {"value": 6, "unit": "%"}}}]`
	handler := func(name string, r func() (command.Result, error)) func(string) (command.Result, error) {
		return func(args string) (command.Result, error) {
			switch {
			case strings.HasPrefix(args, name):
				return r()
			case strings.HasPrefix(args, "list"):
				return smitest.Prints(list)
			case strings.HasPrefix(args, "metric"):
				return smitest.Prints(metric)
			default:
				return smitest.Prints("[]")
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
			name: "metric hangs", answer: handler("metric", func() (command.Result, error) { return command.Result{}, command.ErrTimeout }),
			problem: "later commands: amd_smi: tool did not end in time", devices: 2,
		},
		{
			name: "process hangs", answer: handler("process", func() (command.Result, error) { return command.Result{}, command.ErrTimeout }),
			problem: "later commands: amd_smi: tool did not end in time", devices: 2, values: 2,
		},
		{
			name: "no driver",
			answer: func(string) (command.Result, error) {
				return smitest.Fails(255, "ERROR: Unable to get devices, driver not initialized (amdgpu not found in modules)\n"+
					"ERROR: Unable to detect any GPU devices, check amdgpu version and module status\n", "")
			},
			problem: "the amdgpu driver is not loaded", patience: true,
		},
		{name: "no GPU", answer: handler("list", func() (command.Result, error) { return smitest.Prints("[]") }), problem: "the driver lists no GPU", patience: true},
		{
			name: "not permitted",
			answer: handler("list", func() (command.Result, error) {
				return smitest.Fails(1, "", "Traceback\namdsmi.AmdSmiLibraryException: 10 | AMDSMI_STATUS_NO_PERM - Permission Denied\n")
			}),
			problem: "groups render and video", patience: true,
		},
		{
			name:   "an error in JSON",
			answer: handler("list", func() (command.Result, error) { return smitest.Prints(`{"error": "Driver hiccup", "code": -30}`) }),
			err:    "amd_smi: amd-smi list: Driver hiccup",
		},
		{
			name:   "an error in JSON on stderr",
			answer: handler("list", func() (command.Result, error) { return smitest.Fails(5, "", `{"error": "Driver hiccup", "code": 30}`) }),
			err:    "amd_smi: amd-smi list: Driver hiccup",
		},
		{
			name: "metric dies in the second device", answer: handler("metric -u", func() (command.Result, error) { return smitest.Fails(-1, metric[:len(metric)-20], "") }),
			problem: "metric: amd_smi: amd-smi metric: output ends in the middle", devices: 2, values: 1,
		},
		{
			name: "metric dies in the second device, in an envelope",
			answer: handler("metric -u", func() (command.Result, error) {
				return smitest.Fails(-1, `{"cpu_data": [], "gpu_data": `+metric[:len(metric)-20], "")
			}),
			problem: "metric: amd_smi: amd-smi metric: output ends in the middle", devices: 2, values: 1,
		},
		{
			name: "metric is no JSON", answer: handler("metric -u", func() (command.Result, error) { return smitest.Prints("GPU: 0\n    USAGE:\n") }),
			problem: "metric: amd_smi: amd-smi metric: exit code 0: output is not JSON", devices: 2,
		},
		{
			name: "list dies in the second device", answer: handler("list", func() (command.Result, error) { return smitest.Fails(-1, list[:len(list)-10], "") }),
			problem: "list: amd_smi: amd-smi list: output ends in the middle", devices: 1, values: 1,
		},
		{
			name: "exit code 1 with an answer", answer: handler("metric -u", func() (command.Result, error) { return smitest.Fails(1, metric, "") }),
			devices: 2, values: 2,
		},
		{
			name: "no section", answer: handler("metric -u", func() (command.Result, error) {
				return smitest.Prints(`[{"gpu": 0, "usage": "N/A", "power": null, "clock": [], "fan": 3, "ecc_blocks": "N/A", "throttle": {"ppt_violation_status": {}}}, {"gpu": "1"}, 7, null, {"gpu": 99}]`)
			}), devices: 2,
		},
		{
			name: "no id and no address at all", answer: handler("list", func() (command.Result, error) {
				return smitest.Prints(`[{"gpu": 0, "bdf": "N/A", "uuid": "N/A"}, {"gpu": 1}]`)
			}), err: "neither a unique id nor a PCI address of any GPU",
		},
		{
			name: "neither id nor address", answer: handler("list", func() (command.Result, error) {
				return smitest.Prints(`[{"gpu": 0, "bdf": "N/A", "uuid": "N/A"}, {"gpu": 1, "bdf": "0000:04:00.0"}, {"gpu": -1}, {}]`)
			}), problem: "neither a unique id nor a PCI address of GPU 0", devices: 1, values: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := &smitest.Tool{Answer: tt.answer}
			s := newTestSource(tool)
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
				require.Contains(t, smitest.Problems(node), tt.problem)
			}
			before := len(tool.Runs)
			for range 40 {
				again := smitest.Read(t, s)
				if tt.problem != "" {
					require.Contains(t, smitest.Problems(again), tt.problem, "a problem is there as long as it holds")
				}
			}
			if tt.patience {
				assert.Less(t, len(tool.Runs)-before, 10)
			}
		})
	}
}

// An exception in one section costs the whole output. The tool is run with fewer options, and later with all again.
func TestExceptions(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-6.0", "-e", "--throttle")
	files := tool.Answer
	broken := true
	tool.Answer = func(args string) (command.Result, error) {
		if broken && (strings.Contains(args, "-k") || args == "static --json" || strings.HasPrefix(args, "xgmi")) {
			return smitest.Fails(1, "Failed to open file\n", "Traceback (most recent call last):\n  File\nUnboundLocalError: cannot access local variable\n")
		}
		return files(args)
	}
	s := newTestSource(tool)
	node := smitest.Read(t, s)
	assert.Contains(t, smitest.Problems(node), "static: amd_smi: amd-smi static ended with an exception, so it runs with fewer options now: exit code 1: output is not JSON")
	assert.Contains(t, smitest.Problems(node), "metric: amd_smi: amd-smi metric ended with an exception")
	assert.NotContains(t, smitest.Problems(node), "xgmi", "not every machine has it")
	d := &node.Devices[0]
	assert.Equal(t, "MI210", d.Model)
	smitest.RequireNear(t, 0.87, d.Utilization[gpu.TaskGeneral], "utilization")

	tool.Runs = nil
	for range staticEvery {
		assert.Len(t, smitest.Read(t, s).Problems, 2, "as long as it holds")
	}
	require.Len(t, tool.Runs, staticEvery)
	assert.Equal(t, []string{"list --json", "metric -u -m -p -t --json", "process --json", "metric -P --json"}, tool.Runs[0])
	broken = false
	node = smitest.Read(t, s)
	assert.Empty(t, smitest.Problems(node))
	assert.Contains(t, tool.Runs[len(tool.Runs)-1], "metric -u -m -p -t -c -k -f -E --json", "all that it knows, again")
}

// A busy device is not a property of the tool's version: a query that it could not answer is repeated.
func TestPassingErrors(t *testing.T) {
	t.Parallel()
	for call, known := range map[string]func(d *gpu.Device) bool{
		"xgmi":      func(d *gpu.Device) bool { return d.Interconnect.Received.Known() },
		"metric -P": func(d *gpu.Device) bool { return d.PCIe.Width.Known() },
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
			answer, busy := tool.Answer, true
			tool.Answer = func(args string) (command.Result, error) {
				if busy && strings.HasPrefix(args, call) {
					return smitest.Prints(`{"error": "AMDSMI has returned error '-30' - 'AMDSMI_STATUS_BUSY - Device busy'", "code": -1030}`)
				}
				return answer(args)
			}
			s := newTestSource(tool)
			require.False(t, known(&smitest.Read(t, s).Devices[0]))
			busy = false
			for range staticEvery {
				smitest.Read(t, s)
			}
			require.True(t, known(&smitest.Read(t, s).Devices[0]))
		})
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	suite := smitest.Suite{
		New: func(r command.Runner) gpu.Source { return newTestSource(r) }, Tool: twoGPUs, Option: " -f ", First: []string{"version", "static"},
		Refuse: func() (command.Result, error) {
			return smitest.Prints(`{"error": "Parameter '-f' is invalid. Run '--help' for more info.", "code": -2}`)
		},
	}
	suite.Run(t)
}

func TestError(t *testing.T) {
	t.Parallel()
	tool := twoGPUs()
	s := newTestSource(tool)
	smitest.Read(t, s)
	tool.Answer = func(string) (command.Result, error) { return smitest.Prints(`{"error": "Driver hiccup", "code": -30}`) }
	smitest.RequireUnread(t, smitest.Read(t, s), gpu.FailureToolFailed, "amd_smi: amd-smi list: Driver hiccup")
	tool.Answer = func(string) (command.Result, error) { return smitest.Fails(-1, "", "") }
	smitest.RequireUnread(t, smitest.Read(t, s), gpu.FailureOutput, "exit code -1")
}

// list lists the GPUs, and metric prints nothing about any of them.
func TestMetricCrashes(t *testing.T) {
	t.Parallel()
	tool := twoGPUs()
	s := newTestSource(tool)
	answer := tool.Answer
	smitest.Read(t, s)
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric -u") {
			return smitest.Fails(-1, "", "")
		}
		return answer(args)
	}
	smitest.RequireUnread(t, smitest.Read(t, s), gpu.FailureToolFailed, "exit code -1")
}

// list does not access the GPUs, metric does. That metric does not end says nothing about a single GPU.
func TestMetricHangs(t *testing.T) {
	t.Parallel()
	tool := twoGPUs()
	s := newTestSource(tool)
	answer := tool.Answer
	hang := func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric") {
			return command.Result{}, command.ErrTimeout
		}
		return answer(args)
	}
	tool.Answer = hang
	for range 3 { // the first read, too
		node := smitest.Read(t, s)
		smitest.RequireUnread(t, node, gpu.FailureTimeout, "did not end in time")
	}
	tool.Answer = answer
	require.False(t, smitest.Read(t, s).Devices[1].Unread)

	// A GPU that is lost as well stays lost.
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "list") {
			return smitest.Prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}]`)
		}
		return hang(args)
	}
	node := smitest.Read(t, s)
	assert.True(t, smitest.Device(t, node, "000000000000000c").Unread)
	lost := smitest.Device(t, node, "000000000000000d")
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, smitest.Faults(lost))
	assert.True(t, lost.ProcessesUnread)
	assert.False(t, lost.Unread)
}

// A device does not get what was known about another under the same number.
func TestMetricHangsWhenDevicesChange(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
	files := tool.Answer
	s := newTestSource(tool)
	smitest.Read(t, s)
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric") {
			return command.Result{}, command.ErrTimeout
		}
		r, err := files(args)
		r.Stdout = []byte(strings.NewReplacer("8f1457e2c20f59d2", "111457e2c20f59d2", "0000:05", "0000:15").Replace(string(r.Stdout)))
		return r, err
	}
	d := smitest.Device(t, smitest.Read(t, s), "111457e2c20f59d2")
	assert.True(t, d.Unread)
	assert.Empty(t, d.Info.Serial)
}
