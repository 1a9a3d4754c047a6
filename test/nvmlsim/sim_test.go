//go:build linux && cgo

package nvmlsim_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func library(t *testing.T) nvmlsim.Library {
	t.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// start runs the full library over a scenario until the test ends.
func start(t *testing.T, scenario string) (nvml.Interface, *nvmlsim.Control) {
	t.Helper()
	control := nvmlsim.Use(t, scenario)
	return initialise(t), control
}

func initialise(t *testing.T) nvml.Interface {
	t.Helper()
	api := nvml.New(nvml.WithLibraryPath(library(t).Full))
	if ret := api.Init(); ret != nvml.SUCCESS {
		t.Fatalf("Init: %v", ret)
	}
	t.Cleanup(func() {
		if ret := api.Shutdown(); ret != nvml.SUCCESS {
			t.Errorf("Shutdown: %v", ret)
		}
	})
	return api
}

func device(t *testing.T, api nvml.Interface, index int) nvml.Device {
	t.Helper()
	d, ret := api.DeviceGetHandleByIndex(index)
	want(t, "DeviceGetHandleByIndex", ret, nvml.SUCCESS)
	return d
}

func want[T comparable](t *testing.T, what string, got, expected T) {
	t.Helper()
	if got != expected {
		t.Errorf("%s: got %v, want %v", what, got, expected)
	}
}

func set(t *testing.T, control *nvmlsim.Control, text string) {
	t.Helper()
	if err := control.Set(text); err != nil {
		t.Fatal(err)
	}
}

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
	for _, name := range []string{"demo", "steady8x64", "mig", "lost", "grace", "turing", "geforce", "blackwell"} {
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

// The value of every kind of expression, and what follows from it, at a time that the test sets.
func TestValuesOverTime(t *testing.T) {
	api, control := start(t, `
gpus = 1
time = manual
[gpu 0]
power = square(100, 300, 10, duty=0.5)
util.gpu = ramp(0, 100, 20)
util.memory = steps(0:10, 5:20, 15:30)
temperature = sine(50, 10, 40)
pcie.replay = counter(5, 2)
nvlink.tx = 1Mi
pcie.tx.bytes = counter(4294967290, 1, wrap=4294967296)
ecc.volatile.corrected = counter(100, 1, reset=12)
`)
	d := device(t, api, 0)
	for _, at := range []struct {
		now                string
		power, temperature uint32
		energy, ecc        uint64
		util               nvml.Utilization
		replay             int
		pcieTx, linkKiB    uint64
	}{
		{"0", 300_000, 50, 0, 100, nvml.Utilization{Gpu: 0, Memory: 10}, 5, 4294967290, 0},
		{"7", 100_000, 59, 1_700_000, 107, nvml.Utilization{Gpu: 35, Memory: 20}, 19, 1, 7 * 1024},
		{"20", 300_000, 50, 4_000_000, 8, nvml.Utilization{Gpu: 100, Memory: 30}, 45, 14, 20 * 1024},
	} {
		set(t, control, "now = "+at.now)
		power, _ := d.GetPowerUsage()
		want(t, at.now+" power", power, at.power)
		energy, _ := d.GetTotalEnergyConsumption()
		want(t, at.now+" energy", energy, at.energy)
		temperature, _ := d.GetTemperature(nvml.TEMPERATURE_GPU)
		want(t, at.now+" temperature", temperature, at.temperature)
		util, _ := d.GetUtilizationRates()
		want(t, at.now+" utilisation", util, at.util)
		replay, _ := d.GetPcieReplayCounter()
		want(t, at.now+" replay", replay, at.replay)
		ecc, _ := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC)
		want(t, at.now+" ecc", ecc, at.ecc)
		fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_PCIE_COUNT_TX_BYTES}, {FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ScopeId: 3}}
		want(t, "GetFieldValues", d.GetFieldValues(fields), nvml.SUCCESS)
		want(t, at.now+" pcie bytes", number(fields[0]), at.pcieTx)
		want(t, at.now+" nvlink KiB", number(fields[1]), at.linkKiB)
	}
}

// A counter that is the integral of a rate goes on from where it was when the rate becomes another.
func TestCountersGoOn(t *testing.T) {
	api, control := start(t, "gpus = 1\ntime = manual\nnow = 100s\n[gpu 0]\npower = 500")
	d := device(t, api, 0)
	energy := func() uint64 { e, _ := d.GetTotalEnergyConsumption(); return e }
	want(t, "before", energy(), 50_000_000)
	set(t, control, "[gpu 0]\npower = 100")
	want(t, "at the change", energy(), 50_000_000)
	set(t, control, "now = 110s\n[gpu 0]\npower = 100")
	want(t, "after", energy(), 51_000_000)
	set(t, control, "now = 110s")
	want(t, "back", energy(), 51_000_000)
}

// number is a field's value, little-endian as on every machine that has these drivers.
func number(f nvml.FieldValue) uint64 {
	var n uint64
	for i := 7; i >= 0; i-- {
		n = n<<8 | uint64(f.Value[i])
	}
	return n
}

func TestMemoryAndProcesses(t *testing.T) {
	api, control := start(t, `
gpus = 2
time = manual
now = 100s
[gpu *]
memory.total = 80Gi
memory.reserved = 1Gi
[process a]
gpu = 0
pid = self
memory = 10Gi
sm = 30
[process b]
gpu = 0,1
pid = 4711
memory = 5Gi
sm = 20
until = 200s
[process x]
gpu = 0
pid = 4712
type = graphics
memory = raw(0xFFFFFFFFFFFFFFFF)
[process gone]
gpu = 0
pid = 4713
sm = 7
listed = false
`)
	const gi = 1 << 30
	d := device(t, api, 0)
	v2, ret := d.GetMemoryInfo_v2()
	want(t, "GetMemoryInfo_v2", ret, nvml.SUCCESS)
	want(t, "used", v2.Used, 15*gi)
	want(t, "free", v2.Free, 64*gi)
	v1, _ := d.GetMemoryInfo()
	want(t, "used, with the reserved", v1.Used, 16*gi)

	compute, ret := d.GetComputeRunningProcesses()
	want(t, "GetComputeRunningProcesses", ret, nvml.SUCCESS)
	want(t, "compute processes", len(compute), 2)
	want(t, "pid", compute[0].Pid, uint32(os.Getpid()))
	want(t, "GPU instance", compute[0].GpuInstanceId, 0xFFFFFFFF)
	graphics, _ := d.GetGraphicsRunningProcesses()
	want(t, "memory that is not available", graphics[0].UsedGpuMemory, ^uint64(0))

	samples, ret := d.GetProcessUtilization(0)
	want(t, "GetProcessUtilization", ret, nvml.SUCCESS)
	want(t, "samples", len(samples), 3)
	newest := samples[0].TimeStamp
	_, ret = d.GetProcessUtilization(newest)
	want(t, "nothing newer", ret, nvml.ERROR_NOT_FOUND)
	set(t, control, "now = 100.4s")
	samples, ret = d.GetProcessUtilization(newest)
	want(t, "newer", ret, nvml.SUCCESS)
	want(t, "newer samples", len(samples), 3)

	set(t, control, "now = 201s\n[process a]\nsm = 0")
	samples, _ = d.GetProcessUtilization(newest)
	want(t, "the ended process's last sample", samples[0].Pid, 4711)
	compute, _ = d.GetComputeRunningProcesses()
	want(t, "compute processes, one ended", len(compute), 1)
}

func TestSamples(t *testing.T) {
	api, control := start(t, "gpus = 1\ntime = manual\nnow = 30s\n[gpu 0]\nutil.gpu = steps(0:10, 29.9:50)")
	d := device(t, api, 0)
	kind, samples, ret := d.GetSamples(nvml.GPU_UTILIZATION_SAMPLES, 0)
	want(t, "GetSamples", ret, nvml.SUCCESS)
	want(t, "kind", kind, nvml.VALUE_TYPE_UNSIGNED_INT)
	want(t, "samples", len(samples), 100)
	want(t, "oldest", samples[0].SampleValue[0], 10)
	want(t, "newest", samples[99].SampleValue[0], 50)
	last := samples[99].TimeStamp
	_, _, ret = d.GetSamples(nvml.GPU_UTILIZATION_SAMPLES, last)
	want(t, "none newer", ret, nvml.ERROR_NOT_FOUND)
	set(t, control, "now = 31s")
	_, samples, ret = d.GetSamples(nvml.GPU_UTILIZATION_SAMPLES, last)
	want(t, "newer", ret, nvml.SUCCESS)
	want(t, "newer samples in one second", len(samples), 6)
}

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
	began := time.Now()
	want(t, "slow", power(d3), nvml.SUCCESS)
	if took := time.Since(began); took < 30*time.Millisecond {
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
	for counters.Outstanding() == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case ret := <-done:
		t.Fatalf("the call did not hang: %v", ret)
	case <-time.After(100 * time.Millisecond):
	}
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

func TestInitFaults(t *testing.T) {
	lib := library(t)
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
	select {
	case ret := <-done:
		t.Fatalf("Init did not hang: %v", ret)
	case <-time.After(100 * time.Millisecond):
	}
	if err := control.Clear(); err != nil {
		t.Fatal(err)
	}
	want(t, "Init after the hang", <-done, nvml.SUCCESS)
	want(t, "Shutdown", api.Shutdown(), nvml.SUCCESS)
}

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
	want(t, "utilisation of a partitioned GPU", ret, nvml.ERROR_NOT_SUPPORTED)
	rows := []nvml.FieldValue{{FieldId: nvml.FI_DEV_REMAPPED_COR}}
	want(t, "GetFieldValues", parent.GetFieldValues(rows), nvml.SUCCESS)
	want(t, "remapped rows of a partitioned GPU", nvml.Return(rows[0].NvmlReturn), nvml.ERROR_NOT_SUPPORTED)
	_, ret = parent.GetProcessUtilization(0)
	want(t, "process utilisation of a partitioned GPU", ret, nvml.ERROR_NOT_SUPPORTED)
	_, ret = parent.GetPowerUsage()
	want(t, "power of a partitioned GPU", ret, nvml.SUCCESS)
	n, _ := parent.GetMaxMigDeviceCount()
	found := map[int]nvml.Device{}
	for i := range n {
		if m, ret := parent.GetMigDeviceHandleByIndex(i); ret == nvml.SUCCESS {
			found[i] = m
		}
	}
	want(t, "MIG devices", len(found), 3)
	m := found[0]
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
	want(t, "utilisation once MIG is off", ret, nvml.SUCCESS)
}

func TestEvents(t *testing.T) {
	api, control := start(t, "gpus = 2")
	d := device(t, api, 1)
	events, ret := api.EventSetCreate()
	want(t, "EventSetCreate", ret, nvml.SUCCESS)
	supported, _ := d.GetSupportedEventTypes()
	want(t, "RegisterEvents", d.RegisterEvents(supported, events), nvml.SUCCESS)
	began := time.Now()
	_, ret = events.Wait(30)
	want(t, "no event", ret, nvml.ERROR_TIMEOUT)
	if took := time.Since(began); took < 30*time.Millisecond || took > 3*time.Second {
		t.Errorf("a wait of 30 ms took %v", took)
	}
	// Also of a GPU that no longer tells its UUID.
	set(t, control, "[fault f]\ngpu = 1\nkind = lost\n[event e]\ngpu = 1\nxid = 79")
	event, ret := events.Wait(2000)
	want(t, "Wait", ret, nvml.SUCCESS)
	want(t, "type", event.EventType, nvml.EventTypeXidCriticalError)
	want(t, "XID", event.EventData, 79)
	want(t, "device", event.Device, d)
	want(t, "instance", event.GpuInstanceId, 0xFFFFFFFF)
	set(t, control, "[fault f]\ngpu = 1\nkind = lost\n[event e]\ngpu = 1\nxid = 79\n# unchanged")
	_, ret = events.Wait(60)
	want(t, "an event comes once", ret, nvml.ERROR_TIMEOUT)
	want(t, "Free", events.Free(), nvml.SUCCESS)
}

func TestScenarioIsReadAnew(t *testing.T) {
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

// The binding keeps the functions of the first library that a process met, so an older driver needs a new process.
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
	if err == nil || !strings.Contains(err.Error(), "has no nvmlsim") {
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
