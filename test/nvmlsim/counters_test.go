//go:build linux && cgo

package nvmlsim_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func TestCounters(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(library(t).Full)
	if err != nil {
		t.Fatal(err)
	}
	api, _ := start(t, "gpus = 1\n[process p]\ngpu = 0\npid = 7\nsm = 5")
	d := device(t, api, 0)
	counters.Reset()
	d.GetPowerUsage()
	d.GetPowerUsage()
	d.GetFanSpeed()
	d.GetProcessUtilization(0)
	want(t, "power", counters.Calls("nvmlDeviceGetPowerUsage"), 2)
	want(t, "power errors", counters.Errors("nvmlDeviceGetPowerUsage"), 0)
	want(t, "fan errors", counters.Errors("nvmlDeviceGetFanSpeed"), 1)
	want(t, "a size query is no error", counters.Errors("nvmlDeviceGetProcessUtilization"), 0)
	want(t, "total", counters.TotalCalls(), 5)
	want(t, "outstanding", counters.Outstanding(), 0)
}

func TestStatsOfAnotherProcess(t *testing.T) {
	stats := t.TempDir() + "/stats"
	t.Setenv(nvmlsim.EnvStats, stats)
	cmd := exec.Command(library(t).Sweep, library(t).Full, "10")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(stats)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "nvmlDeviceGetTemperature 80 0\n") {
		t.Errorf("got\n%s", text)
	}
}
