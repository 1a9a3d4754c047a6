//go:build linux && cgo

package nvmlsim_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// The binding keeps the functions of the first library that a process loaded, so an older driver needs a new process.
func TestOlderDrivers(t *testing.T) {
	if path := os.Getenv("NVMLSIM_TEST_LIBRARY"); path != "" {
		olderDriver(t, path)
		return
	}
	lib := library(t)
	for name, path := range map[string]string{"driver450": lib.Driver450, "driver470": lib.Driver470} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestOlderDrivers$", "-test.v")
			cmd.Env = append(os.Environ(), "NVMLSIM_TEST_LIBRARY="+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func olderDriver(t *testing.T, path string) {
	nvmlsim.Use(t, "gpus = 1\n[gpu 0]\nboard = a100\n[process p]\ngpu = 0\npid = 1\nmemory = 3Gi\n[process q]\ngpu = 0\npid = 2\nmemory = 4Gi")
	api := nvml.New(nvml.WithLibraryPath(path))
	want(t, "Init", api.Init(), nvml.SUCCESS)
	for symbol, there := range map[string]bool{
		"nvmlDeviceGetMemoryInfo":                   true,
		"nvmlDeviceGetMemoryInfo_v2":                false,
		"nvmlDeviceGetComputeRunningProcesses_v3":   false,
		"nvmlDeviceGetCurrentClocksThrottleReasons": true,
		"nvmlDeviceGetCurrentClocksEventReasons":    false,
		"nvmlGpmSampleGet":                          false,
	} {
		want(t, symbol, api.Extensions().LookupSymbol(symbol) == nil, there)
	}
	d := device(t, api, 0)
	processes, ret := d.GetComputeRunningProcesses()
	want(t, "GetComputeRunningProcesses", ret, nvml.SUCCESS)
	want(t, "processes", len(processes), 2)
	want(t, "memory", processes[1].UsedGpuMemory, 4<<30)
	fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION}, {FieldId: nvml.FI_DEV_POWER_INSTANT}}
	want(t, "GetFieldValues", d.GetFieldValues(fields), nvml.SUCCESS)
	want(t, "a field it knew", nvml.Return(fields[0].NvmlReturn), nvml.SUCCESS)
	want(t, "a newer field", nvml.Return(fields[1].NvmlReturn), nvml.ERROR_INVALID_ARGUMENT)
	want(t, "Shutdown", api.Shutdown(), nvml.SUCCESS)
}

func TestNotNVML(t *testing.T) {
	_, err := nvmlsim.OpenCounters(library(t).NotNVML)
	if err == nil || !strings.Contains(err.Error(), "lacks nvmlsim") {
		t.Errorf("it should load, and hold nothing: %v", err)
	}
}

func TestAbsent(t *testing.T) {
	library(t)
	path, err := nvmlsim.BuildAbsent(t.TempDir(), "nvmlDeviceGetPowerUsage")
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := exec.Command("nm", "-D", "--defined-only", path).Output()
	if err != nil {
		t.Skip(err)
	}
	want(t, "absent", strings.Contains(string(symbols), "nvmlDeviceGetPowerUsage\n"), false)
	want(t, "there", strings.Contains(string(symbols), "nvmlDeviceGetPowerManagementLimit\n"), true)
}
