// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/doctor"
	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
	"github.com/otelgpu/gpureceiver/internal/compare"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// toolScript writes a program with a tool's name.
func toolScript(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	commandtest.WriteScript(t, path, text)
	return path
}

// standingStill is a machine whose values do not move.
func standingStill(t *testing.T, machine string) string {
	t.Helper()
	library := simulatedLibrary(t)
	path, err := nvmlsim.ScenarioFile(machine)
	require.NoError(t, err)
	scenario, err := os.ReadFile(path)
	require.NoError(t, err)
	nvmlsim.Use(t, "time = manual\nnow = 100s\n"+string(scenario))
	return library
}

// The real nvidia-smi on a simulated machine has the values that we have. test/nvidiatool/run.sh gets the tool.
func TestDoctorCompareNVIDIA(t *testing.T) {
	real := os.Getenv("NVIDIA_SMI")
	if real == "" {
		t.Skip("NVIDIA_SMI is not set; test/nvidiatool/run.sh gets the tool and sets it")
	}
	for _, machine := range []string{"turing", "grace", "mig"} {
		t.Run(machine, func(t *testing.T) {
			library := standingStill(t, machine)
			tool := toolScript(t, "nvidia-smi", fmt.Sprintf("LD_LIBRARY_PATH=%s %s=%s %s=%s exec %s \"$@\"", filepath.Dir(library),
				nvmlsim.EnvScenario, os.Getenv(nvmlsim.EnvScenario), nvmlsim.EnvControl, os.Getenv(nvmlsim.EnvControl), real))
			compareAgrees(t, tool, gpuConfig("scrapers:\n  nvml:\n    library_path: "+library))
		})
	}
}

// AMD's real tools on simulated machines have the values that we have. test/amdtools/run.sh gets the tools.
func TestDoctorCompareAMD(t *testing.T) {
	systems := os.Getenv("AMD_TOOLS_DIR")
	if systems == "" || os.Geteuid() != 0 {
		t.Skip("AMD_TOOLS_DIR is not set, or this is not root; test/amdtools/run.sh gets the tools")
	}
	for _, name := range []string{"rocm-smi", "amd-smi"} {
		t.Run(name, func(t *testing.T) {
			root := amdMachine(t, amdgpusim.MI100())
			inside := fmt.Sprintf(`mount --make-rprivate / && mount --bind %[2]s/sys %[1]s/sys && mount --bind %[2]s/proc %[1]s/proc && exec chroot %[1]s %[3]s "$@"`,
				filepath.Join(systems, "trixie"), root, name)
			tool := toolScript(t, name, "PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root exec unshare --mount --pid --fork --kill-child sh -e -c '"+inside+"' sh \"$@\"")
			compareAgrees(t, tool, gpuConfig("scrapers:\n  amdgpu:\n    root_path: "+root))
		})
	}
}

// compareAgrees compares with a tool, and requires that most values are the same, and none differs.
func compareAgrees(t *testing.T, tool, config string) {
	t.Helper()
	got := finish(t, doctorCommand(t, "--compare", "--tool", tool, "--config", config, "--output", "json"))
	r := report(t, got)
	require.Len(t, r.Comparisons, 1, got.out)
	rows := r.Comparisons[0].Rows
	for _, row := range rows {
		assert.NotEqual(t, compare.Differs, row.Verdict, "%+v", row)
	}
	assert.Greater(t, compare.Count(rows, compare.Same), 10)
	assert.Equal(t, tool, r.Comparisons[0].Tool)
	text := finish(t, doctorCommand(t, "--compare", "--tool", tool, "--config", config))
	t.Log(text.out)
	assert.Contains(t, text.out, "QUANTITY")
}

// A tool that fails says nothing about the source, and without a GPU there is nothing to compare.
func TestDoctorCompareNothing(t *testing.T) {
	library := standingStill(t, "turing")
	config := gpuConfig("scrapers:\n  nvml:\n    library_path: " + library)
	got := finish(t, doctorCommand(t, "--compare", "--tool", toolScript(t, "nvidia-smi", "echo broken >&2; exit 9"), "--config", config, "--output", "json"))
	r := report(t, got)
	failed := check(t, r, "gpu: nvml and the vendor's tool", "compare")
	assert.Equal(t, doctor.Failed, failed.State)
	assert.Equal(t, 1, r.Failed, got.out)
	assert.Empty(t, r.Comparisons)
	assert.Equal(t, doctor.OK, check(t, r, "gpu: nvml (", "source").State)

	got = finish(t, doctorCommand(t, "--compare", "--config", gpuConfig("scrapers:\n  amdgpu:\n    root_path: "+t.TempDir()), "--output", "json"))
	assert.Equal(t, doctor.Absent, check(t, report(t, got), "gpu: amdgpu and the vendor's tool", "compare").State)
}

// What the tool sees of GPUs that our source cannot read is shown.
func TestDoctorCompareOnlyTool(t *testing.T) {
	tool := toolScript(t, "nvidia-smi", `[ "$*" = "-q -x" ] || exit 2
echo '<nvidia_smi_log><driver_version>570.1</driver_version><gpu id="00000000:0A:00.0"><uuid>GPU-1</uuid><minor_number>3</minor_number></gpu></nvidia_smi_log>'`)
	config := gpuConfig("scrapers:\n  nvml:\n    library_path: " + t.TempDir() + "/libnvidia-ml.so.1")
	r := report(t, finish(t, doctorCommand(t, "--compare", "--tool", tool, "--config", config, "--output", "json")))
	require.Len(t, r.Comparisons, 1)
	assert.Positive(t, compare.Count(r.Comparisons[0].Rows, compare.OnlyTool))
	assert.Equal(t, "GPU-1", r.Comparisons[0].Rows[0].Device)
}

// A tool whose values are others is marked, with the tolerance.
func TestDoctorCompareDiffers(t *testing.T) {
	c := doctor.Comparison{Source: "nvml", Tool: "/usr/bin/nvidia-smi", Rows: []compare.Row{
		{Device: "GPU-1", Quantity: "model", Before: "H100", Tool: "H100", After: "H100", Verdict: compare.Same},
		{Device: "GPU-1", Quantity: "power", Unit: "W", Before: 300.0, Tool: 500.0, After: 310.5, Tolerance: 31.05, Verdict: compare.Differs},
		{Device: "GPU-1", Quantity: "energy", Unit: "J", Before: 1234567.0, After: 1234567.0, Verdict: compare.OnlyOurs},
		{Device: "GPU-2", Quantity: "throttled, PPT", Tool: true, Verdict: compare.OnlyTool},
	}}
	r := doctor.Report{Comparisons: []doctor.Comparison{c}, Readable: true}
	_, tables, ok := strings.Cut(r.Text(), "\n")
	require.True(t, ok)
	path := filepath.Join("testdata", "doctor", "compare.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(tables), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), tables)
}
