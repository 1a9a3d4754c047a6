// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/doctor"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func simulatedLibrary(t *testing.T) string {
	t.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return lib.Full
}

// amdMachine writes a simulated machine that every user can read.
func amdMachine(t *testing.T, m *amdgpusim.Machine) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755))
	require.NoError(t, os.Chmod(root, 0o755))
	_, err := amdgpusim.Write(root, m)
	require.NoError(t, err)
	return root
}

// Without GPUs, and without a configuration of them, nothing fails. On a machine with GPUs this test says nothing.
func TestDoctorNoGPU(t *testing.T) {
	got := finish(t, doctorCommand(t, "--output", "json"))
	r := report(t, got)
	assert.Empty(t, got.err)
	for _, section := range []string{"gpu: amdgpu", "gpu: nvml"} {
		if source := check(t, r, section, "source"); source.State != doctor.Absent {
			t.Skip("this machine has GPUs: ", source.Found)
		}
	}
	assert.Zero(t, got.code)
	assert.Contains(t, check(t, r, "gpu: amdgpu", "driver").Found, "the amdgpu driver is not loaded")
	assert.Contains(t, check(t, r, "gpu: nvml", "library").Found, "no usable libnvidia-ml.so.1")
}

// A scraper that is configured has to find something.
func TestDoctorConfiguredAndMissing(t *testing.T) {
	root := amdMachine(t, &amdgpusim.Machine{Kernel: "6.1.0"})
	got := finish(t, doctorCommand(t, "--config", gpuConfig("scrapers:\n  nvml:\n    library_path: "+root+"/libnvidia-ml.so.1\n  amdgpu:\n    root_path: "+root)))
	assert.Equal(t, 1, got.code)
	assert.Empty(t, got.err)
	goldenReport(t, "missing", got.out, root, "ROOT")
}

func TestDoctorSimulatedNVIDIA(t *testing.T) {
	library := simulatedLibrary(t)
	config := gpuConfig("scrapers:\n  nvml:\n    library_path: " + library)
	for name, c := range map[string]struct {
		faults string
		code   int
	}{
		"nvidia":      {"", 0},
		"nvidia_part": {"[fault f]\ngpu = 1\nfunction = nvmlDeviceGetFieldValues\nreturn = NO_PERMISSION\n[fault l]\ngpu = 2\nkind = lost", 1},
	} {
		t.Run(name, func(t *testing.T) {
			nvmlsim.Use(t, "gpus = 3\n[gpu *]\nboard = h100\nutil.gpu = 30\n"+c.faults)
			got := finish(t, doctorCommand(t, "--config", config))
			assert.Empty(t, got.err)
			assert.Equal(t, c.code, got.code, got.out)
			goldenReport(t, name, got.out)
		})
	}
}

func TestDoctorSimulatedAMD(t *testing.T) {
	root := amdMachine(t, amdgpusim.MI300XCPX())
	got := finish(t, doctorCommand(t, "--config", gpuConfig("scrapers:\n  amdgpu:\n    root_path: "+root)))
	assert.Empty(t, got.err)
	assert.Equal(t, 0, got.code, got.out)
	goldenReport(t, "amd", got.out, root, "ROOT")
}

// A kernel's log that cannot be read is found at the first read, which is the only one.
func TestDoctorKernelLog(t *testing.T) {
	root := amdMachine(t, amdgpusim.MI100())
	config := "yaml:receivers: {gpu: {kernel_log: {method: kmsg, root_path: " + t.TempDir() + "}, scrapers: {amdgpu: {root_path: " + root + "}}}}\n" +
		"service: {pipelines: {logs: {receivers: [gpu], exporters: [debug]}}}"
	got := finish(t, doctorCommand(t, "--config", config, "--output", "json"))
	log := check(t, report(t, got), "gpu: amdgpu", "kernel log")
	assert.Equal(t, doctor.Failed, log.State)
	assert.Contains(t, log.Found, "dev/kmsg")
}

// A library that was copied in part says so, and does not end the process.
func TestDoctorTruncatedLibrary(t *testing.T) {
	whole, err := os.ReadFile(simulatedLibrary(t))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
	got := finish(t, doctorCommand(t, "--config", gpuConfig("scrapers:\n  nvml:\n    library_path: "+path)))
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.out, "  failed  source  GPUs: their number is unknown; nvml: no usable libnvidia-ml.so.1")
	assert.Contains(t, got.out, path+": the file is incomplete")
	assert.Contains(t, got.out, "\n\n1 check failed.\n")
}

// A file that this user may not read is a failure with the reason, for the user nobody and for any user without permissions.
func TestDoctorPermission(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	m := amdgpusim.MI100()
	root := amdMachine(t, m)
	require.NoError(t, os.Chmod(filepath.Join(root, "sys/class/drm"), 0o700))
	cmd := doctorCommand(t, "--config", gpuConfig("scrapers:\n  amdgpu:\n    root_path: "+root), "--output", "json")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	got := finish(t, cmd)
	r := report(t, got)
	assert.Equal(t, 1, got.code)
	source := check(t, r, "gpu: amdgpu", "source")
	assert.Equal(t, doctor.Failed, source.State)
	assert.Equal(t, "permission_denied", source.Reason)
	assert.Contains(t, source.Found, "permission denied")
	assert.Contains(t, check(t, r, "machine", "user").Found, "user ID 65534, group ID 65534")
	assert.Contains(t, check(t, r, "machine", "user").Found, "capabilities none that sources use")
}
