//go:build linux && cgo

package nvmlsim_test

import (
	"os"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// The value of every kind of expression, and its derived values, at a time that the test sets.
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
	for _, step := range []struct {
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
		set(t, control, "now = "+step.now)
		power, _ := d.GetPowerUsage()
		want(t, step.now+" power", power, step.power)
		energy, _ := d.GetTotalEnergyConsumption()
		want(t, step.now+" energy", energy, step.energy)
		temperature, _ := d.GetTemperature(nvml.TEMPERATURE_GPU)
		want(t, step.now+" temperature", temperature, step.temperature)
		util, _ := d.GetUtilizationRates()
		want(t, step.now+" utilization", util, step.util)
		replay, _ := d.GetPcieReplayCounter()
		want(t, step.now+" replay", replay, step.replay)
		ecc, _ := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC)
		want(t, step.now+" ecc", ecc, step.ecc)
		fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_PCIE_COUNT_TX_BYTES}, {FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ScopeId: 3}}
		want(t, "GetFieldValues", d.GetFieldValues(fields), nvml.SUCCESS)
		want(t, step.now+" pcie bytes", number(fields[0]), step.pcieTx)
		want(t, step.now+" nvlink KiB", number(fields[1]), step.linkKiB)
	}
}

// A counter that is the integral of a rate continues from its value when the rate changes.
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

// number returns a field's value, little-endian as on every machine that has these drivers.
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

func TestEvents(t *testing.T) {
	api, control := start(t, "gpus = 2")
	d := device(t, api, 1)
	events, ret := api.EventSetCreate()
	want(t, "EventSetCreate", ret, nvml.SUCCESS)
	supported, _ := d.GetSupportedEventTypes()
	want(t, "RegisterEvents", d.RegisterEvents(supported, events), nvml.SUCCESS)
	startedAt := time.Now()
	_, ret = events.Wait(30)
	want(t, "no event", ret, nvml.ERROR_TIMEOUT)
	if took := time.Since(startedAt); took < 30*time.Millisecond {
		t.Errorf("a wait of 30 ms took %v", took)
	}
	// Also for a GPU that no longer reports its UUID.
	set(t, control, "[fault f]\ngpu = 1\nkind = lost\n[event e]\ngpu = 1\nxid = 79")
	event, ret := events.Wait(60_000)
	want(t, "Wait", ret, nvml.SUCCESS)
	want(t, "type", event.EventType, nvml.EventTypeXidCriticalError)
	want(t, "XID", event.EventData, 79)
	want(t, "device", event.Device, d)
	want(t, "instance", event.GpuInstanceId, 0xFFFFFFFF)
	set(t, control, "[fault f]\ngpu = 1\nkind = lost\n[event e]\ngpu = 1\nxid = 79\n# unchanged\n[event later]\ngpu = 1\nxid = 13")
	event, ret = events.Wait(60_000)
	want(t, "Wait", ret, nvml.SUCCESS)
	want(t, "an event comes once", event.EventData, 13)
	want(t, "Free", events.Free(), nvml.SUCCESS)
}
