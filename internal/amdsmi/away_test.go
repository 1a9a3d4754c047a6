// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// twoROCm lists two GPUs, 000000000000000c and 000000000000000d.
func twoROCm() *fakeTool {
	return rocmTool(`{"card0": {"Unique ID": "0xc", "PCI Bus": "0000:03:00.0", "Card Series": "MI210", "GPU use (%)": "5"},`+
		`"card1": {"Unique ID": "0xd", "PCI Bus": "0000:04:00.0", "Card Series": "MI210", "GPU use (%)": "6"}}`, "")
}

// twoAMD lists the same two.
func twoAMD() *fakeTool {
	return &fakeTool{answer: func(args string) (command.Result, error) {
		switch name, _, _ := strings.Cut(args, " "); name {
		case "list":
			return prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}, ` +
				`{"gpu": 1, "bdf": "0000:04:00.0", "hip_uuid": "GPU-000000000000000d"}]`)
		case "static":
			return prints(`[{"gpu": 0, "asic": {"market_name": "MI210"}}, {"gpu": 1, "asic": {"market_name": "MI210"}}]`)
		case "metric":
			return prints(`[{"gpu": 0, "usage": {"gfx_activity": 5}}, {"gpu": 1, "usage": {"gfx_activity": 6}}]`)
		}
		return prints("[]")
	}}
}

// each runs a test with both sources.
func each(t *testing.T, test func(t *testing.T, s gpu.Source, tool *fakeTool)) {
	t.Helper()
	t.Run("rocm-smi", func(t *testing.T) {
		t.Parallel()
		tool := twoROCm()
		test(t, testROCm(tool), tool)
	})
	t.Run("amd-smi", func(t *testing.T) {
		t.Parallel()
		tool := twoAMD()
		test(t, testAMD(tool), tool)
	})
}

func faults(d *gpu.Device) []gpu.FaultType {
	result := make([]gpu.FaultType, 0, len(d.Faults))
	for _, f := range d.Faults {
		result = append(result, f.Type)
	}
	return result
}

// requireAway checks that both GPUs are in a node, with one fault and without a reading.
func requireAway(t *testing.T, node *gpu.Node, fault gpu.FaultType, message string) {
	t.Helper()
	require.Equal(t, []string{"000000000000000c", "000000000000000d"}, ids(node))
	requireValue(t, int64(0), node.Presence[gpu.Visible], "visible")
	requireValue(t, int64(2), node.Presence[gpu.Missing], "missing")
	for i := range node.Devices {
		d := &node.Devices[i]
		require.Equal(t, []gpu.FaultType{fault}, faults(d))
		assert.Equal(t, gpu.StateFailed, d.State())
		assert.Contains(t, d.Faults[0].Message, message)
		assert.True(t, d.ProcessesUnread, "whether it has any is not known")
		assert.Equal(t, "MI210", d.Model)
		assert.False(t, d.Utilization[gpu.TaskGeneral].Known())
	}
	assert.Contains(t, problems(node), message)
}

// A driver that hangs must not take the GPUs out of the metrics by which it would be noticed.
func TestToolThatDoesNotRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		fault gpu.FaultType
	}{
		{"hangs", fmt.Errorf("amd-smi: %w: killed", command.ErrTimeout), gpu.FaultHung},
		{"is still running", fmt.Errorf("amd-smi: %w: since noon", command.ErrBusy), gpu.FaultHung},
		{"is not there", fmt.Errorf("%w: no amd-smi", command.ErrNotFound), gpu.FaultUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s gpu.Source, tool *fakeTool) {
				t.Helper()
				answer := tool.answer
				require.Empty(t, read(t, s).Devices[0].Faults)
				tool.answer = func(string) (command.Result, error) { return command.Result{}, tt.err }
				for range 3 {
					node := read(t, s)
					requireAway(t, node, tt.fault, tt.err.Error())
					assert.Len(t, node.Problems, 1)
					assert.True(t, node.Unread)
				}
				tool.answer = answer
				node := read(t, s)
				assert.False(t, node.Unread)
				require.Len(t, node.Devices, 2)
				for i := range node.Devices {
					assert.Empty(t, node.Devices[i].Faults)
					assert.True(t, node.Devices[i].Utilization[gpu.TaskGeneral].Known())
				}
				requireValue(t, int64(2), node.Presence[gpu.Visible], "visible")
				requireValue(t, int64(0), node.Presence[gpu.Missing], "missing")
			})
		})
	}
}

// What says nothing of the GPUs must not make them failed.
func TestPlaceThatIsNotReached(t *testing.T) {
	t.Parallel()
	for _, reason := range []error{errors.New("the API server is away"), context.Canceled} {
		t.Run(reason.Error(), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s gpu.Source, tool *fakeTool) {
				t.Helper()
				read(t, s)
				answer := tool.answer
				tool.answer = func(string) (command.Result, error) { return command.Result{}, reason }
				_, err := s.Read(t.Context())
				require.ErrorIs(t, err, reason)
				tool.answer = func(args string) (command.Result, error) { // in the middle
					if strings.HasPrefix(args, "list") {
						return answer(args)
					}
					return command.Result{}, reason
				}
				_, err = s.Read(t.Context())
				require.ErrorIs(t, err, reason)
			})
		})
	}
}

func TestNotPermittedAnyMore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s gpu.Source, tool *fakeTool) {
		t.Helper()
		read(t, s)
		tool.answer = func(string) (command.Result, error) { return fails(8, "", "STATUS_NO_PERM: Permission denied\n") }
		for range 4 {
			node := read(t, s)
			requireAway(t, node, gpu.FaultUnreachable, "groups render and video")
			assert.False(t, node.Unread, "the tool has answered")
		}
	})
}

// An option that is refused is left out and the call repeated: where that one hangs, or what is called with it, the refusal is
// not what to tell.
func TestHangsAfterRefusal(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(args string) bool{
		"in the same call": func(string) bool { return true },
		"in the next": func(args string) bool {
			return strings.HasPrefix(args, "list --json") || strings.HasPrefix(args, "--json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s gpu.Source, tool *fakeTool) {
				t.Helper()
				read(t, s)
				answer := tool.answer
				refused := false
				tool.answer = func(args string) (command.Result, error) {
					switch {
					case refused && hang(args):
						return command.Result{}, command.ErrTimeout
					case strings.Contains(args, "--showtoponuma"):
						refused = true
						return fails(2, "", "error: unrecognized arguments: --showtoponuma\n")
					case strings.HasPrefix(args, "list -e"):
						refused = true
						return prints(`{"error": "Parameter '-e' is invalid.", "code": -2}`)
					}
					return answer(args)
				}
				requireAway(t, read(t, s), gpu.FaultHung, "did not end in time")
			})
		})
	}
}

func TestAMDError(t *testing.T) {
	t.Parallel()
	tool := twoAMD()
	s := testAMD(tool)
	read(t, s)
	tool.answer = func(string) (command.Result, error) { return prints(`{"error": "Driver hiccup", "code": -30}`) }
	requireAway(t, read(t, s), gpu.FaultUnreachable, "amd_smi: amd-smi list: Driver hiccup")
}

// list does not touch the GPUs, metric does: those that were listed are hung.
func TestAMDMetricHangs(t *testing.T) {
	t.Parallel()
	tool := twoAMD()
	s := testAMD(tool)
	answer := tool.answer
	hang := func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric") {
			return command.Result{}, command.ErrTimeout
		}
		return answer(args)
	}
	tool.answer = hang
	for range 3 { // the first read, too
		node := read(t, s)
		requireAway(t, node, gpu.FaultHung, "did not end in time")
		assert.True(t, node.Unread)
	}
	tool.answer = answer
	require.Empty(t, read(t, s).Devices[1].Faults)

	// One that is lost as well stays lost, and is counted.
	tool.answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "list") {
			return prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}]`)
		}
		return hang(args)
	}
	node := read(t, s)
	assert.Equal(t, []gpu.FaultType{gpu.FaultHung}, faults(device(t, node, "000000000000000c")))
	lost := device(t, node, "000000000000000d")
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(lost))
	assert.True(t, lost.ProcessesUnread)
	requireValue(t, int64(0), node.Presence[gpu.Visible], "visible")
	requireValue(t, int64(2), node.Presence[gpu.Missing], "missing")
}

// A number must not lend another device what was known under it.
func TestAMDMetricHangsWhenDevicesChange(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-7.0-dpx")
	files := tool.answer
	s := testAMD(tool)
	read(t, s)
	tool.answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric") {
			return command.Result{}, command.ErrTimeout
		}
		r, err := files(args)
		r.Stdout = []byte(strings.NewReplacer("8f1457e2c20f59d2", "111457e2c20f59d2", "0000:05", "0000:15").Replace(string(r.Stdout)))
		return r, err
	}
	d := device(t, read(t, s), "111457e2c20f59d2")
	assert.Equal(t, []gpu.FaultType{gpu.FaultHung}, faults(d))
	assert.Empty(t, d.Info.Serial)
}

// Each GPU is in the node once, wherever it was.
func TestUnreadableAfterMove(t *testing.T) {
	t.Parallel()
	k := newKnownGPUs(command.ROCmSMI)
	for i, place := range []string{"0000:09:00.0", "0000:03:00.0"} {
		node := gpu.Node{Time: testTime.Add(seconds(i))}
		k.list(&node, []listedGPU{{devices: []gpu.Device{{ID: "000000000000000c", Info: gpu.Info{PCIAddress: place}}}, numbers: []int{0}}})
	}
	node := gpu.Node{Time: testTime.Add(seconds(3))}
	require.True(t, k.unreadable(&node, gpu.FaultHung, command.ErrTimeout))
	require.Len(t, node.Devices, 1)
	assert.Equal(t, "0000:03:00.0", node.Devices[0].Info.PCIAddress)
	requireValue(t, int64(1), node.Presence[gpu.Missing], "missing")
}
