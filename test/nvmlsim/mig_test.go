//go:build linux && cgo

package nvmlsim_test

import (
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func TestMIG(t *testing.T) {
	path, err := nvmlsim.ScenarioFile("mig")
	if err != nil {
		t.Fatal(err)
	}
	control := nvmlsim.UseFile(t, path)
	api := initialise(t)
	parent := device(t, api, 0)
	mode, _, ret := parent.GetMigMode()
	want(t, "GetMigMode", ret, nvml.SUCCESS)
	want(t, "mode", mode, nvml.DEVICE_MIG_ENABLE)
	_, ret = parent.GetUtilizationRates()
	want(t, "utilization of a partitioned GPU", ret, nvml.ERROR_NOT_SUPPORTED)
	rows := []nvml.FieldValue{{FieldId: nvml.FI_DEV_REMAPPED_COR}}
	want(t, "GetFieldValues", parent.GetFieldValues(rows), nvml.SUCCESS)
	want(t, "remapped rows of a partitioned GPU", nvml.Return(rows[0].NvmlReturn), nvml.ERROR_NOT_SUPPORTED)
	_, ret = parent.GetProcessUtilization(0)
	want(t, "process utilization of a partitioned GPU", ret, nvml.ERROR_NOT_SUPPORTED)
	_, ret = parent.GetPowerUsage()
	want(t, "power of a partitioned GPU", ret, nvml.SUCCESS)
	n, _ := parent.GetMaxMigDeviceCount()
	got := map[int]nvml.Device{}
	for i := range n {
		if m, ret := parent.GetMigDeviceHandleByIndex(i); ret == nvml.SUCCESS {
			got[i] = m
		}
	}
	want(t, "MIG devices", len(got), 3)
	m := got[0]
	name, _ := m.GetName()
	want(t, "name", name, "NVIDIA H100 80GB HBM3 MIG 3g.40gb")
	gi, _ := m.GetGpuInstanceId()
	want(t, "GPU instance", gi, 2)
	attributes, _ := m.GetAttributes()
	want(t, "slices", attributes.GpuInstanceSliceCount, 3)
	_, ret = m.GetPowerUsage()
	want(t, "power of a MIG device", ret, nvml.ERROR_NOT_SUPPORTED)
	processes, _ := m.GetComputeRunningProcesses()
	want(t, "its processes", len(processes), 1)
	want(t, "whose instance", processes[0].GpuInstanceId, 2)
	all, _ := parent.GetComputeRunningProcesses()
	want(t, "the parent's processes", len(all), 2)
	uuid, _ := m.GetUUID()
	again, ret := api.DeviceGetHandleByUUID(uuid)
	want(t, "DeviceGetHandleByUUID", ret, nvml.SUCCESS)
	want(t, "the same handle", again, m)
	up, _ := m.GetDeviceHandleFromMigDeviceHandle()
	want(t, "its parent", up, parent)

	before, _ := api.GpmSampleAlloc()
	after, _ := api.GpmSampleAlloc()
	want(t, "GpmMigSampleGet", parent.GpmMigSampleGet(2, before), nvml.SUCCESS)
	time.Sleep(20 * time.Millisecond)
	want(t, "GpmMigSampleGet", parent.GpmMigSampleGet(2, after), nvml.SUCCESS)
	get := nvml.GpmMetricsGetType{NumMetrics: 1, Sample1: before, Sample2: after}
	get.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_GRAPHICS_UTIL)
	want(t, "GpmMetricsGet", api.GpmMetricsGet(&get), nvml.SUCCESS)
	if v := get.Metrics[0].Value; v < 79.9 || v > 80.1 {
		t.Errorf("GPM: got %v, want 80", v)
	}
	before.Free()
	after.Free()

	set(t, control, "[mig 0 0]\npresent = false\n[mig 0 4]\nprofile = 2g.20gb\ngi = 5")
	_, ret = m.GetName()
	want(t, "a destroyed MIG device", ret, nvml.ERROR_INVALID_ARGUMENT)
	newer, ret := parent.GetMigDeviceHandleByIndex(4)
	want(t, "a new one", ret, nvml.SUCCESS)
	name, _ = newer.GetName()
	want(t, "its name", name, "NVIDIA H100 80GB HBM3 MIG 2g.20gb")
	set(t, control, "[gpu 0]\nmig = 0")
	_, ret = parent.GetUtilizationRates()
	want(t, "utilization once MIG is off", ret, nvml.SUCCESS)
}
