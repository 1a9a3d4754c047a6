// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

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
	const card = `{"card0": {"Unique ID": "0x1", "PCI Bus": "0000:03:00.0", "GPU use (%)": "5"}}`
	for _, tt := range []struct {
		name     string
		answer   func(args string) (command.Result, error)
		err      string // of Read
		problem  string
		devices  int
		patience bool // with what stays so
	}{
		{
			name: "no tool",
			answer: func(string) (command.Result, error) {
				return command.Result{}, errors.Join(command.ErrNotFound, errors.New("no rocm-smi in /opt/rocm/bin"))
			},
			problem: "no rocm-smi in /opt/rocm/bin",
		},
		{
			name:   "hangs, and no GPU is known",
			answer: func(string) (command.Result, error) { return command.Result{}, command.ErrTimeout },
			err:    "did not end in time",
		},
		{
			name: "no driver, exit code 0",
			answer: func(string) (command.Result, error) {
				return smitest.Fails(0, "", "cat: /sys/module/amdgpu/initstate: No such file or directory\n"+
					"ERROR:root:Driver not initialized (amdgpu not found in modules)\n")
			},
			problem: "the amdgpu driver is not loaded; load it (modprobe amdgpu)", patience: true,
		},
		{
			name:    "no data, exit code 0",
			answer:  func(string) (command.Result, error) { return smitest.Fails(0, "", "WARNING: No JSON data to report\n") },
			problem: "the driver lists no GPU", patience: true,
		},
		{
			name: "not permitted",
			answer: func(string) (command.Result, error) {
				return smitest.Fails(8, "", "ERROR:root:ROCm SMI returned 8: RSMI_STATUS_PERMISSION (Permission denied)\n")
			},
			problem: "groups render and video", patience: true,
		},
		{
			name: "a table instead of JSON",
			answer: func(string) (command.Result, error) {
				return smitest.Prints("\n\n======================= ROCm System Management Interface =======================\nGPU[0]\t\t: GPU use (%): 5\n")
			},
			err: `output is not JSON: it begins with "======================= ROCm System`,
		},
		{
			name:   "nothing at all",
			answer: func(string) (command.Result, error) { return smitest.Fails(0, "", "") },
			err:    "output is not JSON: it is empty",
		},
		{
			name:   "dies in the first card",
			answer: func(string) (command.Result, error) { return smitest.Fails(-1, card[:40], "") },
			err:    "output ends in the middle",
		},
		{
			name: "dies in the second card",
			answer: func(string) (command.Result, error) {
				return smitest.Fails(-1, card[:len(card)-1]+`, "card1": {"Unique ID": "0x2", "GPU u`, "")
			},
			problem: "output ends in the middle", devices: 1,
		},
		{
			name: "a card that shows nothing",
			answer: func(string) (command.Result, error) {
				return smitest.Prints(card[:len(card)-1] + `, "card1": {}, "card7": "N/A", "cardX": {"Unique ID": "0x7"}}`)
			},
			problem: "neither a unique id nor a PCI address of card1", devices: 1,
		},
		{
			name: "no id at all",
			answer: func(string) (command.Result, error) {
				return smitest.Prints(`{"card0": {"GPU use (%)": "5"}, "card1": {}}`)
			},
			err: "neither a unique id nor a PCI address of any GPU",
		},
		{
			name: "the text hangs",
			answer: func(args string) (command.Result, error) {
				if strings.HasPrefix(args, "--json") {
					return smitest.Prints(card)
				}
				return command.Result{}, command.ErrTimeout
			},
			problem: "processes and errors: rocm_smi: tool did not end in time", devices: 1,
		},
		{
			name: "an exit code that means nothing",
			answer: func(args string) (command.Result, error) {
				if strings.HasPrefix(args, "--json") {
					return smitest.Fails(2, card, "")
				}
				return smitest.Fails(2, "=== End of ROCm SMI Log ===\n", "")
			},
			devices: 1,
		},
		{
			name: "a card asleep",
			answer: func(args string) (command.Result, error) {
				if strings.HasPrefix(args, "--json") {
					return smitest.Prints("\nWARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status\n\n" + card)
				}
				return smitest.Prints("")
			},
			problem: "a GPU is asleep", devices: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := &smitest.Tool{Answer: tt.answer}
			s := newTestSource(tool)
			node, err := s.Read(t.Context())
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				require.ErrorContains(t, err, "rocm_smi: ")
				return
			}
			require.NoError(t, err)
			require.Len(t, node.Devices, tt.devices)
			require.Equal(t, tt.name == "the text hangs", node.HasProblem(gpu.ProblemProcesses))
			if answered := tt.name != "no tool" && tt.name != "not permitted"; answered {
				smitest.RequireValue(t, int64(tt.devices), node.Presence[gpu.Visible], "visible")
			} else {
				assert.False(t, node.Presence[gpu.Visible].Known(), "nothing was read")
				assert.NotNil(t, node.Failure)
			}
			if tt.devices == 0 {
				assert.False(t, node.Presence[gpu.Missing].Known(), "whether one is missing it cannot tell")
			}
			if tt.problem == "" {
				require.Empty(t, smitest.Problems(node))
			} else {
				require.Contains(t, smitest.Problems(node), tt.problem)
			}
			before := len(tool.Runs)
			for range 40 {
				again := smitest.Read(t, s)
				require.Len(t, again.Problems, len(node.Problems), "a problem is there as long as it holds")
			}
			if tt.patience {
				assert.Less(t, len(tool.Runs)-before, 10)
			} else {
				assert.Equal(t, 40, len(tool.Runs)-before)
			}
		})
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	suite := smitest.Suite{
		New: func(r command.Runner) gpu.Source { return newTestSource(r) }, Tool: twoGPUs, Option: " --showfan ",
		Refuse: func() (command.Result, error) {
			return smitest.Fails(2, "", "rocm_smi.py: error: unrecognized arguments: --showfan\n")
		},
	}
	suite.Run(t)
}
