// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func TestNoGPU(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &options{vendor: "none", out: filepath.Join(t.TempDir(), "report")}, &out))
	assert.Equal(t, "SKIP: test-hardware: this machine lacks an NVIDIA or AMD GPU with a driver\n", out.String())
}

// simulated are the GPU and the processes of nvmlsim, and what must not be in the recording.
const simulated = `gpus = 1
[gpu 0]
uuid = GPU-58000000-0000-4000-8000-000000000001
serial = 1650000000777
bus_id = 0000:5a:00
[process other]
gpu = 0
pid = 4194301
name = secret-program
memory = 1Gi
`

var simulatedIdentities = []string{"58000000-0000-4000-8000-000000000001", "1650000000777", "5a:00", "secret-program"}

// The whole test runs on simulators. The simulated libcuda makes the simulated NVML show what the load does.
func TestOnSimulators(t *testing.T) {
	programs := os.Getenv("HARDWARE")
	if programs == "" {
		t.Skip("HARDWARE does not name the directory that `make hardware` builds")
	}
	lib, err := nvmlsim.Build()
	require.NoError(t, err)
	nvmlsim.Use(t, simulated)
	t.Setenv("GPU_NVML_LIBRARY", lib.Full)
	t.Setenv("GPU_CUDA_LIBRARY", compile(t, "testdata/cuda.c"))
	tool, err := filepath.Abs("../../testdata/tools/nvidia_smi_full/nvidia-smi")
	require.NoError(t, err)
	var out bytes.Buffer
	o := &options{
		programs: programs, out: filepath.Join(t.TempDir(), "report"), tool: tool, vendor: nvidia, illegal: true,
		interval: 500 * time.Millisecond, maxPhase: time.Minute,
	}
	require.NoError(t, run(t.Context(), o, &out), out.String())

	report, err := os.ReadFile(filepath.Join(o.out, "report.md"))
	require.NoError(t, err)
	t.Logf("%s", report)
	for _, line := range []string{
		"| GPU-1 | allocation | memory of the load's process | 2048 MiB | 2032 to 2064 | 2048 | ok |",
		"- illegal access: CUDA error 700; XIDs reported: 31",
		"| nvmlDeviceGetUUID |",
		"nvml: GPU-1, NVIDIA H100",
	} {
		assert.Contains(t, string(report), line)
	}
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(o.out, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var text []byte
			text, err = os.ReadFile(path)
			assert.NotEmpty(t, text, path)
			all.Write(text)
		}
		return err
	}))
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, identity := range append(simulatedIdentities, `"stringValue":"`+host+`"`) {
		assert.NotContains(t, all.String(), identity)
	}
}

// compile builds a shared library.
func compile(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "library.so")
	text, err := exec.Command("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", path, source, "-lpthread").CombinedOutput()
	require.NoError(t, err, string(text))
	return path
}

// Each call of a program into NVML is counted once, and has its return code.
func TestCounts(t *testing.T) {
	lib, err := nvmlsim.Build()
	if err != nil {
		t.Skip(err)
	}
	nvmlsim.Use(t, "gpus = 2\n[gpu *]\nmig = 0\n")
	calls := filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command(lib.Sweep, lib.Full, "10")
	cmd.Env = append(os.Environ(), "LD_AUDIT="+compile(t, "programs/count.c"), "GPU_HARDWARE_CALLS="+calls)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	files, err := filepath.Glob(calls + ".*")
	require.NoError(t, err)
	require.Len(t, files, 1)
	functions, err := readCalls(files[0])
	require.NoError(t, err)
	codes := map[string]string{}
	for i := range functions {
		codes[functions[i].name()] = functions[i].codes()
		assert.Positive(t, functions[i].Nanoseconds)
	}
	assert.Equal(t, "0:1", codes["nvmlInit_v2"])
	assert.Equal(t, "0:20", codes["nvmlDeviceGetTemperature"])
	assert.Equal(t, "10:10", codes["nvmlEventSetWait_v2"], "a timeout each time")
}
