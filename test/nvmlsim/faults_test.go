//go:build linux && cgo

package nvmlsim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func TestFaults(t *testing.T) {
	api, control := start(t, "gpus = 4\n[gpu *]\npower = 250")
	d2, d3 := device(t, api, 2), device(t, api, 3)
	power := func(d nvml.Device) nvml.Return { _, ret := d.GetPowerUsage(); return ret }

	set(t, control, "[fault f]\ngpu = 2\nfunction = nvmlDeviceGetPowerUsage\nreturn = NO_PERMISSION\ncalls = 2")
	want(t, "first", power(d2), nvml.ERROR_NO_PERMISSION)
	want(t, "another GPU", power(d3), nvml.SUCCESS)
	want(t, "second", power(d2), nvml.ERROR_NO_PERMISSION)
	want(t, "third", power(d2), nvml.SUCCESS)

	set(t, control, "[fault f]\ngpu = 2\nkind = lost")
	want(t, "lost", power(d2), nvml.ERROR_GPU_IS_LOST)
	_, ret := d2.GetUUID()
	want(t, "lost UUID", ret, nvml.ERROR_GPU_IS_LOST)
	device(t, api, 2)
	set(t, control, "[fault f]\ngpu = 2\nkind = lost\nat_start = true")
	_, ret = api.DeviceGetHandleByIndex(2)
	want(t, "lost at start", ret, nvml.ERROR_GPU_IS_LOST)
	want(t, "the others", power(d3), nvml.SUCCESS)

	set(t, control, "[fault f]\nkind = driver")
	_, ret = api.DeviceGetCount()
	want(t, "driver gone", ret, nvml.ERROR_DRIVER_NOT_LOADED)
	want(t, "driver gone", power(d3), nvml.ERROR_DRIVER_NOT_LOADED)
	want(t, "driver gone, init", api.Init(), nvml.ERROR_DRIVER_NOT_LOADED)

	set(t, control, "[gpu 1]\npresent = false")
	n, _ := api.DeviceGetCount()
	want(t, "count without one", n, 3)
	minor, _ := device(t, api, 1).GetMinorNumber()
	want(t, "what index 1 is now", minor, 2)

	set(t, control, "[fault f]\nfield = 82\nreturn = NOT_SUPPORTED")
	fields := []nvml.FieldValue{{FieldId: 82}, {FieldId: 83}}
	want(t, "GetFieldValues", d3.GetFieldValues(fields), nvml.SUCCESS)
	want(t, "field 82", nvml.Return(fields[0].NvmlReturn), nvml.ERROR_NOT_SUPPORTED)
	want(t, "field 83", nvml.Return(fields[1].NvmlReturn), nvml.SUCCESS)

	set(t, control, "[fault f]\nfunction = nvmlDeviceGetPower*\nlatency = 30ms")
	startedAt := time.Now()
	want(t, "slow", power(d3), nvml.SUCCESS)
	if took := time.Since(startedAt); took < 30*time.Millisecond {
		t.Errorf("a call with 30 ms latency took %v", took)
	}

	set(t, control, "[gpu 3]\nmemory.used = raw(0xFFFFFFFFFFFFFFFF)\npower = error(UNKNOWN)")
	memory, _ := d3.GetMemoryInfo_v2()
	want(t, "garbage", memory.Used, ^uint64(0))
	want(t, "a value that fails", power(d3), nvml.ERROR_UNKNOWN)

	if err := control.Set("[gpu 9]\npower = 3"); err == nil || !strings.Contains(err.Error(), "control:2: no such GPU") {
		t.Errorf("a wrong control file: %v", err)
	}
	set(t, control, "")
	want(t, "well again", power(d2), nvml.SUCCESS)
}

func TestHang(t *testing.T) {
	api, control := start(t, "gpus = 2")
	counters, err := nvmlsim.OpenCounters(library(t).Full)
	if err != nil {
		t.Fatal(err)
	}
	d := device(t, api, 1)
	set(t, control, "[fault stuck]\ngpu = 1\nfunction = nvmlDeviceGetName\nhang = true")
	done := make(chan nvml.Return)
	go func() {
		_, ret := d.GetName()
		done <- ret
	}()
	awaitHang(counters)
	_, ret := d.GetUUID()
	want(t, "another function meanwhile", ret, nvml.SUCCESS)
	if err := control.Clear(); err != nil {
		t.Fatal(err)
	}
	want(t, "after the hang", <-done, nvml.SUCCESS)

	set(t, control, "[fault stuck]\nfunction = nvmlDeviceGetName\nhang = 50ms\nreturn = TIMEOUT")
	_, ret = d.GetName()
	want(t, "after 50 ms", ret, nvml.ERROR_TIMEOUT)
}

// awaitHang waits until a call hangs.
func awaitHang(counters *nvmlsim.Counters) {
	for counters.Waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestInitFaults(t *testing.T) {
	lib := library(t)
	counters, err := nvmlsim.OpenCounters(lib.Full)
	if err != nil {
		t.Fatal(err)
	}
	control := nvmlsim.Use(t, "gpus = 1")
	api := nvml.New(nvml.WithLibraryPath(lib.Full))
	for _, ret := range []nvml.Return{nvml.ERROR_LIB_RM_VERSION_MISMATCH, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_UNKNOWN} {
		if err := control.Write(fmt.Sprintf("[fault f]\nfunction = nvmlInit\nreturn = %d", ret)); err != nil {
			t.Fatal(err)
		}
		want(t, "Init", api.Init(), ret)
	}
	if err := control.Write("[fault f]\nfunction = nvmlInit\nhang = true"); err != nil {
		t.Fatal(err)
	}
	done := make(chan nvml.Return)
	go func() { done <- api.Init() }()
	awaitHang(counters)
	if err := control.Clear(); err != nil {
		t.Fatal(err)
	}
	want(t, "Init after the hang", <-done, nvml.SUCCESS)
	want(t, "Shutdown", api.Shutdown(), nvml.SUCCESS)
}
