// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestAMDWhatIsRunWhen(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-6.0", "-e", "--throttle", "-f")
	s := testAMD(tool)
	read(t, s)
	require.Equal(t, []string{
		"version --json", "list -e --json", "static --json", "metric -u -m -p -t -c -k -e -f -E --throttle --json",
		"process --json", "xgmi -m --json", "metric -P --json",
	}, tool.runs[0])
	// It names one option at a time. -e is one of list and one of metric.
	require.Equal(t, [][]string{
		{"list --json", "metric -u -m -p -t -c -k -f -E --throttle --json"},
		{"metric -u -m -p -t -c -k -E --throttle --json"},
		{"metric -u -m -p -t -c -k -E --json"},
	}, tool.runs[1:])
	tool.runs = nil
	for range staticEvery {
		read(t, s)
	}
	require.Len(t, tool.runs, staticEvery, "one call per read")
	for _, run := range tool.runs {
		assert.Equal(t, []string{"list --json", "metric -u -m -p -t -c -k -E --json", "process --json", "metric -P --json"}, run)
	}
	read(t, s)
	assert.Equal(t, []string{"version --json", "list --json", "static --json"}, tool.runs[staticEvery][:3])
}

func TestAMDAsksOnlyForWhatIsWanted(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-6.0")
	read(t, NewAMD(&AMDConfig{}, tool, gpu.GroupPower))
	require.Equal(t, [][]string{{"version --json", "list -e --json", "static --json", "metric -p --json"}}, tool.runs)

	tool = amdTool(t, "amd-smi-6.0")
	node := read(t, NewAMD(&AMDConfig{}, tool, gpu.GroupProcesses))
	require.Equal(t, [][]string{{"version --json", "list -e --json", "static --json", "process --json"}}, tool.runs)
	require.Len(t, node.Devices, 1)
}

// What a device is called and which it is must never be mixed up with the numbers that it had before.
func TestAMDReadsStaticWhenDevicesChange(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-7.0-dpx")
	s := testAMD(tool)
	read(t, s)
	files := tool.answer
	tool.answer = func(args string) (command.Result, error) {
		r, err := files(args)
		text := string(r.Stdout)
		if strings.HasPrefix(args, "list") {
			text = strings.NewReplacer("8f1457e2c20f59d2", "111457e2c20f59d2", "0000:05", "0000:15").Replace(text)
		}
		if strings.HasPrefix(args, "static") {
			text = strings.NewReplacer("0x8F1457E2C20F59D2", "0x111457E2C20F59D2", "692347006052", "7").Replace(text)
		}
		r.Stdout = []byte(text)
		return r, err
	}
	tool.runs = nil
	node := read(t, s)
	require.Len(t, tool.runs, 2)
	require.Equal(t, []string{"static --json"}, tool.runs[1])
	d := device(t, node, "111457e2c20f59d2")
	assert.Equal(t, "7", d.Info.Serial)
	lost := device(t, node, "8f1457e2c20f59d2")
	assert.Equal(t, gpu.StateFailed, lost.State())

	// Where static fails at that moment, nothing is kept of what was known under the numbers; the GPU's own identity is.
	tool.answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "static") {
			return fails(1, "", "Traceback\nOSError: static\n")
		}
		return files(args)
	}
	node = read(t, s)
	d = device(t, node, "8f1457e2c20f59d2")
	assert.Equal(t, "692347006052", d.Info.Serial)
	assert.False(t, d.Power.Limit[gpu.LimitMax].Known())
	assert.Contains(t, problems(node), "amd-smi static: ")
	tool.runs = nil
	read(t, s)
	assert.Contains(t, tool.runs[0], "static --json", "tried again at once")
}

// Boards up to MI200 measure their PCIe traffic for a second per device when they are asked for the link.
func TestAMDSlowPCIe(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-7.0-dpx")
	files := tool.answer
	tool.answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric -P") {
			return command.Result{}, command.ErrTimeout
		}
		return files(args)
	}
	s := testAMD(tool)
	for range slowStrikes {
		node := read(t, s)
		require.Len(t, node.Devices, 3)
		assert.Contains(t, problems(node), "measures traffic for a second per device")
	}
	tool.runs = nil
	node := read(t, s)
	assert.NotContains(t, tool.runs[0], "metric -P --json")
	assert.NotContains(t, problems(node), "measures traffic")
	requireNear(t, 412, node.Devices[0].Power.Draw, "power")

	// It may not have been this call that was slow, but the driver for a while.
	tool.answer = files
	for range forgetAfter {
		node = read(t, s)
	}
	requireValue(t, int64(5), node.Devices[0].PCIe.Generation, "PCIe generation")
	assert.Contains(t, tool.runs[len(tool.runs)-1], "metric -P --json")
}

func TestAMDForgetsRefusalsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	version := "24.5.2"
	tool := &fakeTool{}
	tool.answer = func(args string) (command.Result, error) {
		switch {
		case strings.HasPrefix(args, "version"):
			return prints(`[{"amdsmi_library_version": "` + version + `"}]`)
		case strings.Contains(args, "-e") && version == "24.5.2":
			return prints(`{"error": "Parameter '-e' is invalid. Run '--help' for more info.", "code": -2}`)
		case args == "list --json":
			return prints(`[{"gpu": 0, "bdf": "0000:03:00.0"}]`)
		case args == "list -e --json":
			return prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "card": "card5"}]`)
		}
		return prints("[]")
	}
	s := testAMD(tool)
	assert.Equal(t, "gpu0", read(t, s).Devices[0].Name)
	version = "26.0.2"
	for range staticEvery {
		assert.Equal(t, "gpu0", read(t, s).Devices[0].Name)
	}
	read(t, s)
	assert.Equal(t, "card5", read(t, s).Devices[0].Name)
}

func TestAMDVersions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 27, major("27.0.0"))
	assert.Equal(t, 24, major("24.5.2.0"))
	assert.Zero(t, major("N/A"))
	assert.Zero(t, major(""))
	assert.Empty(t, libraryVersion(nil))
}

// Two days on which the tool was slow do not make a slow board.
func TestAMDPCIeSlowNowAndThen(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-7.0-dpx")
	files, slow := tool.answer, false
	tool.answer = func(args string) (command.Result, error) {
		if slow && strings.HasPrefix(args, "metric -P") {
			return command.Result{}, command.ErrTimeout
		}
		return files(args)
	}
	s := testAMD(tool)
	for range 2 * slowStrikes {
		slow = true
		require.False(t, read(t, s).Devices[0].PCIe.Width.Known())
		slow = false
		require.True(t, read(t, s).Devices[0].PCIe.Width.Known())
	}
}
