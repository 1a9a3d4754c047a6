// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestWhatIsRunWhen(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-6.0", "-e", "--throttle", "-f")
	s := newTestSource(tool)
	smitest.Read(t, s)
	require.Equal(t, []string{
		"version --json", "list -e --json", "static --json", "metric -u -m -p -t -c -k -e -f -E --throttle --json",
		"process --json", "xgmi -m -l --json", "bad-pages --json", "metric -P --json",
	}, tool.Runs[0])
	// amd-smi names one option at a time. list and metric both have an option -e.
	require.Equal(t, [][]string{
		{"list --json", "metric -u -m -p -t -c -k -f -E --throttle --json"},
		{"metric -u -m -p -t -c -k -E --throttle --json"},
		{"metric -u -m -p -t -c -k -E --json"},
	}, tool.Runs[1:])
	tool.Runs = nil
	for range staticEvery {
		smitest.Read(t, s)
	}
	require.Len(t, tool.Runs, staticEvery, "one call per read")
	for _, run := range tool.Runs {
		assert.Equal(t, []string{"list --json", "metric -u -m -p -t -c -k -E --json", "process --json", "metric -P --json"}, run)
	}
	smitest.Read(t, s)
	assert.Equal(t, []string{"version --json", "list --json", "static --json"}, tool.Runs[staticEvery][:3])
}

func TestAsksOnlyForWhatIsWanted(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-6.0")
	smitest.Read(t, New(&Config{}, tool, gpu.GroupPower))
	require.Equal(t, [][]string{{"version --json", "list -e --json", "static --json", "metric -p --json"}}, tool.Runs)

	tool = smitest.AMDTool(t, "amd-smi-6.0")
	node := smitest.Read(t, New(&Config{}, tool, gpu.GroupProcesses))
	require.Equal(t, [][]string{{"version --json", "list -e --json", "static --json", "process --json"}}, tool.Runs)
	require.Len(t, node.Devices, 1)
}

// The identity of a device does not follow the numbers that amd-smi gives.
func TestReadsStaticWhenDevicesChange(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
	s := newTestSource(tool)
	smitest.Read(t, s)
	files := tool.Answer
	tool.Answer = func(args string) (command.Result, error) {
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
	tool.Runs = nil
	node := smitest.Read(t, s)
	require.Len(t, tool.Runs, 2)
	require.Equal(t, []string{"static --json", "bad-pages --json"}, tool.Runs[1])
	d := smitest.Device(t, node, "111457e2c20f59d2")
	assert.Equal(t, "7", d.Info.Serial)
	lost := smitest.Device(t, node, "8f1457e2c20f59d2")
	assert.Equal(t, gpu.StateFailed, lost.State())

	_, limited := d.PCIe.GenerationLimit.Get()
	require.True(t, limited)

	// If static fails at that moment, nothing is kept of what was known under the numbers; the GPU's own identity is.
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "static") {
			return smitest.Fails(1, "", "Traceback\nOSError: static\n")
		}
		return files(args)
	}
	node = smitest.Read(t, s)
	d = smitest.Device(t, node, "8f1457e2c20f59d2")
	assert.Equal(t, "692347006052", d.Info.Serial)
	assert.False(t, d.PCIe.GenerationLimit.Known())
	assert.Contains(t, smitest.Problems(node), "amd-smi static: ")
	tool.Runs = nil
	smitest.Read(t, s)
	assert.Contains(t, tool.Runs[0], "static --json", "tried again immediately")
}

// GPUs up to MI200 measure their PCIe traffic for a second each when the link is read.
func TestSlowPCIe(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
	files := tool.Answer
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric -P") {
			return command.Result{}, command.ErrTimeout
		}
		return files(args)
	}
	s := newTestSource(tool)
	for range maxTimeouts {
		node := smitest.Read(t, s)
		require.Len(t, node.Devices, 3)
		assert.Contains(t, smitest.Problems(node), "takes a second for each GPU")
	}
	tool.Runs = nil
	node := smitest.Read(t, s)
	assert.NotContains(t, tool.Runs[0], "metric -P --json")
	assert.NotContains(t, smitest.Problems(node), "measures traffic")
	smitest.RequireNear(t, 412, node.Devices[0].Power.Draw, "power")

	// The driver may have been slow for a while, and not this call.
	tool.Answer = files
	for range restPCIe {
		node = smitest.Read(t, s)
	}
	smitest.RequireValue(t, int64(5), node.Devices[0].PCIe.Generation, "PCIe generation")
	assert.Contains(t, tool.Runs[len(tool.Runs)-1], "metric -P --json")
}

func TestForgetsRefusalsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	version := "24.5.2"
	tool := &smitest.Tool{}
	tool.Answer = func(args string) (command.Result, error) {
		switch {
		case strings.HasPrefix(args, "version"):
			return smitest.Prints(`[{"amdsmi_library_version": "` + version + `"}]`)
		case strings.Contains(args, "-e") && version == "24.5.2":
			return smitest.Prints(`{"error": "Parameter '-e' is invalid. Run '--help' for more info.", "code": -2}`)
		case args == "list --json":
			return smitest.Prints(`[{"gpu": 0, "bdf": "0000:03:00.0"}]`)
		case args == "list -e --json":
			return smitest.Prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "card": "card5"}]`)
		}
		return smitest.Prints("[]")
	}
	s := newTestSource(tool)
	assert.Equal(t, "gpu0", smitest.Read(t, s).Devices[0].Name)
	version = "26.0.2"
	for range staticEvery {
		assert.Equal(t, "gpu0", smitest.Read(t, s).Devices[0].Name)
	}
	smitest.Read(t, s)
	assert.Equal(t, "card5", smitest.Read(t, s).Devices[0].Name)
}

func TestVersions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 27, major("27.0.0"))
	assert.Equal(t, 24, major("24.5.2.0"))
	assert.Zero(t, major("N/A"))
	assert.Zero(t, major(""))
	assert.Empty(t, libraryVersion(nil))
}

// Two timeouts with good reads between them do not count as slow.
func TestPCIeSlowNowAndThen(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
	files, slow := tool.Answer, false
	tool.Answer = func(args string) (command.Result, error) {
		if slow && strings.HasPrefix(args, "metric -P") {
			return command.Result{}, command.ErrTimeout
		}
		return files(args)
	}
	s := newTestSource(tool)
	for range 2 * maxTimeouts {
		slow = true
		require.False(t, smitest.Read(t, s).Devices[0].PCIe.Width.Known())
		slow = false
		require.True(t, smitest.Read(t, s).Devices[0].PCIe.Width.Known())
	}
}
