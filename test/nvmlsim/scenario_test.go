//go:build linux && cgo

package nvmlsim_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func TestDefaultScenario(t *testing.T) {
	nvmlsim.UseFile(t, "")
	api := initialise(t)
	n, ret := api.DeviceGetCount()
	want(t, "DeviceGetCount", ret, nvml.SUCCESS)
	want(t, "count", n, 8)
	uuids := map[string]bool{}
	for i := range n {
		d := device(t, api, i)
		uuid, _ := d.GetUUID()
		uuids[uuid] = true
		name, _ := d.GetName()
		want(t, "name", name, "NVIDIA H100 80GB HBM3")
	}
	want(t, "different UUIDs", len(uuids), 8)
}

func TestScenariosLoad(t *testing.T) {
	for _, name := range []string{"demo", "steady8x64", "mig", "lost", "grace", "turing", "geforce", "blackwell", "h200"} {
		t.Run(name, func(t *testing.T) {
			path, err := nvmlsim.ScenarioFile(name)
			if err != nil {
				t.Fatal(err)
			}
			nvmlsim.UseFile(t, path)
			api := initialise(t)
			n, _ := api.DeviceGetCount()
			for i := range n {
				uuid, ret := device(t, api, i).GetUUID()
				if ret != nvml.SUCCESS || len(uuid) != len("GPU-00000000-0000-0000-0000-000000000000") {
					t.Errorf("GPU %d: %q, %v", i, uuid, ret)
				}
			}
		})
	}
}

// The faults of README.md are valid in a control file.
func TestDocumentedFaults(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, faults, _ := strings.Cut(string(page), "```ini\n")
	faults, _, ok := strings.Cut(faults, "```")
	if !ok || strings.Count(faults, "[fault ") != 5 {
		t.Fatalf("README.md has five faults: %q", faults)
	}
	_, control := start(t, "gpus = 8")
	if err := control.Set(faults); err != nil {
		t.Error(err)
	}
}

func TestScenarioReload(t *testing.T) {
	for _, n := range []int{1, 5} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			api, _ := start(t, fmt.Sprintf("gpus = %d", n))
			got, _ := api.DeviceGetCount()
			want(t, "count", got, n)
		})
	}
}

func TestNoControl(t *testing.T) {
	control := nvmlsim.Use(t, "gpus = 1\n[gpu 0]\npower = 300")
	if err := control.Write("[gpu 0]\npower = 400"); err != nil {
		t.Fatal(err)
	}
	power := func() uint32 {
		api := nvml.New(nvml.WithLibraryPath(library(t).Full))
		want(t, "Init", api.Init(), nvml.SUCCESS)
		milliwatts, ret := device(t, api, 0).GetPowerUsage()
		want(t, "GetPowerUsage", ret, nvml.SUCCESS)
		want(t, "Shutdown", api.Shutdown(), nvml.SUCCESS)
		return milliwatts
	}
	want(t, "power as the control file says", power(), 400_000)
	t.Setenv(nvmlsim.EnvControl, "none")
	want(t, "power where there is none", power(), 300_000)
}

func TestWrongScenario(t *testing.T) {
	nvmlsim.Use(t, "gpus = 1\n[gpu 0]\nno.such.key = 3")
	api := nvml.New(nvml.WithLibraryPath(library(t).Full))
	want(t, "Init", api.Init(), nvml.ERROR_UNKNOWN)
	counters, err := nvmlsim.OpenCounters(library(t).Full)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(counters.LastError(), "test.scenario:3: no such key: no.such.key") {
		t.Errorf("LastError: %q", counters.LastError())
	}
}
