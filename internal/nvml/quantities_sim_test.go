// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// everything sets each value to another number, so that none can be taken for a second.
const everything = `
gpus = 2
time = manual
now = 100
[gpu 1]
board = h100
serial = 1650000000001
minor = 5
bus_id = 0000:9b:00
util.gpu = 11
util.memory = 12
util.encoder = 13
util.decoder = 14
util.jpeg = 15
util.ofa = 16
memory.total = 80Gi
memory.reserved = 1Gi
memory.used = 20Gi
protected.total = 8Gi
protected.used = 2Gi
temperature = 61
temperature.memory = 72
threshold.shutdown = 95
threshold.slowdown = 92
threshold.gpu_max = 87
threshold.memory_max = 105
tlimit.margin = 26
tlimit.gpu_max = 5
tlimit.shutdown = -7
fans = 2
fan = 58
fan.rpm = 1234
power.average = 612.5
power.instant = 640.25
power.module = 900
power.limit.enforced = 650
power.limit.max = 720
power.limit.min = 210
power.limit.default = 690
power.memory = 95
energy = 123456.789
clock.graphics = 1701
clock.sm = 1702
clock.memory = 2603
clock.video = 1504
clock.max.graphics = 1981
clock.max.sm = 1982
clock.max.memory = 2653
clock.max.video = 1554
pstate = 2
reasons = 0x144
reasons.supported = 0x1ef
violation.power = 1.5
violation.sync_boost = 2.5
violation.sw_thermal = 3.5
violation.hw_thermal = 4.5
violation.power_brake = 5.5
violation.board_limit = 6.5
violation.low_util = 7.5
violation.reliability = 8.5
pcie.tx.bytes = 912345678901
pcie.rx.bytes = 1000002
pcie.replay = 7
pcie.replay_rollover = 8
pcie.recoveries = 9
pcie.naks.received = 10
pcie.naks.sent = 11
bar1.total = 128Gi
bar1.used = 3Mi
encoder.sessions = 2
encoder.fps = 30
encoder.latency = 0.004
capture.sessions = 3
capture.fps = 60
capture.latency = 0.005
pcie.generation = 3
pcie.generation.max = 5
pcie.width = 8
pcie.width.max = 16
ecc.volatile.corrected = 21
ecc.volatile.uncorrected = 22
ecc.aggregate.corrected = 23
ecc.aggregate.uncorrected = 24
remapped.corrected = 31
remapped.uncorrected = 32
links = 2
nvlink.tx.bytes = 4096
nvlink.rx.bytes = 8192
nvlink.crc_flit = 1
nvlink.crc_data = 2
nvlink.replay = 4
nvlink.recovery = 5
nvlink.ecc = 6
`

func TestIdentity(t *testing.T) {
	b := start(t, everything)
	d := gpuAt(t, b.read(), 1)
	assert.Equal(t, "GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01", d.ID)
	assert.Equal(t, "nvidia5", d.Name)
	assert.Equal(t, "NVIDIA H100 80GB HBM3", d.Model)
	assert.Equal(t, gpu.NVIDIA, d.Vendor)
	assert.Empty(t, d.Parent)
	assert.Equal(t, gpu.Info{
		Serial:            "1650000000001",
		DriverVersion:     "580.95.05",
		FirmwareVersion:   "96.00.61.00.01",
		PCIAddress:        "0000:9b:00.0",
		ComputeCapability: "9.0",
		FabricClique:      "0", InterconnectVersion: "4.0",
		BoardPartNumber: "692-2G520-0200-000", Brand: "nvidia", Architecture: "hopper", InfoROMVersion: "G520.0200.00.05",
		CUDAVersion: "13.0", NVMLVersion: "13.580.95.05",
	}, d.Info)
}

func TestNUMANode(t *testing.T) {
	b := start(t, everything)
	b.pci("0000:9b:00.0", "nvidia", "1")
	assert.Equal(t, gpu.Some[int64](1), gpuAt(t, b.read(), 1).Info.NUMANode)
}

// approx compares values that went through a unit conversion.
func approx(t *testing.T, want float64, got gpu.Opt[float64], subject string) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "%s is absent", subject)
	assert.InEpsilon(t, want, v, 1e-9, subject)
}

func total[N gpu.Number](t *testing.T, want N, got gpu.Counter[N], subject string) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "%s is absent", subject)
	assert.InDelta(t, float64(want), float64(v), 1e-6, subject)
	assert.True(t, got.Since().IsZero(), "%s: the driver does not report since when", subject)
}

func TestQuantities(t *testing.T) {
	b := start(t, everything)
	n := b.read()
	assert.Empty(t, n.Problems)
	d := gpuAt(t, n, 1)

	approx(t, 0.11, d.Utilization[gpu.TaskGeneral], "utilization")
	approx(t, 0.12, d.MemoryController, "memory controller")
	approx(t, 0.13, d.Utilization[gpu.TaskEncoder], "encoder")
	approx(t, 0.14, d.Utilization[gpu.TaskDecoder], "decoder")
	approx(t, 0.15, d.Utilization[gpu.TaskJPEG], "JPEG")
	approx(t, 0.16, d.Utilization[gpu.TaskOpticalFlow], "optical flow")

	assert.Equal(t, gpu.Memory{
		Limit: gpu.Some[int64](80 << 30), Usage: gpu.Some[int64](20 << 30),
		Reserved: gpu.Some[int64](1 << 30), Protected: gpu.Some[int64](2 << 30),
		BAR1Limit: gpu.Some[int64](128 << 30), BAR1Usage: gpu.Some[int64](3 << 20),
	}, d.Memory)

	approx(t, 61, d.Temperature[gpu.SensorGPU], "temperature")
	approx(t, 72, d.Temperature[gpu.SensorMemory], "memory temperature")
	approx(t, 92, d.TemperatureLimit[gpu.SensorGPU][gpu.LimitDegraded], "slowdown")
	approx(t, 95, d.TemperatureLimit[gpu.SensorGPU][gpu.LimitCritical], "shutdown")
	approx(t, 87, d.TemperatureLimit[gpu.SensorGPU][gpu.LimitMax], "highest of the GPU")
	approx(t, 105, d.TemperatureLimit[gpu.SensorMemory][gpu.LimitMax], "highest of the memory")
	approx(t, 21, d.TemperatureMargin[gpu.LimitMax], "the GPU is at its max operating temperature when 26 have fallen to 5")
	approx(t, 28, d.TemperatureMargin[gpu.LimitDegraded], "the GPU slows down when 26 have fallen to -2")
	approx(t, 33, d.TemperatureMargin[gpu.LimitCritical], "the GPU shuts down when 26 have fallen to -7")
	assert.Equal(t, []gpu.Fan{
		{Location: "fan0", Ratio: gpu.Some(0.58), Speed: gpu.Some[int64](1234)}, {Location: "fan1", Ratio: gpu.Some(0.58)},
	}, d.Fans)

	approx(t, 612.5, d.Power.Draw, "power")
	approx(t, 640.25, d.Power.Instant, "instantaneous power")
	approx(t, 900, d.Power.Module, "module power")
	approx(t, 650, d.Power.Limit[gpu.LimitEnforced], "power limit")
	approx(t, 720, d.Power.Limit[gpu.LimitMax], "highest power limit")
	approx(t, 210, d.Power.Limit[gpu.LimitMin], "lowest power limit")
	approx(t, 690, d.Power.Limit[gpu.LimitDefault], "default power limit")
	approx(t, 95, d.Power.Memory, "memory power")
	total(t, 123456.789, d.Energy, "energy")

	for domain, want := range [gpu.NumClockDomains][2]float64{
		{1701e6, 1981e6}, {1702e6, 1982e6}, {2603e6, 2653e6}, {1504e6, 1554e6},
	} {
		approx(t, want[0], d.Clocks[domain].Speed, "clock")
		approx(t, want[1], d.Clocks[domain].Limit, "clock limit")
	}
	assert.Equal(t, gpu.Some[int64](2), d.PerformanceState)

	active := func(r gpu.ThrottleReason) gpu.Opt[bool] { return d.Throttle[r].Active }
	assert.Equal(t, gpu.Some(true), active(gpu.ThrottleSWPowerCap))
	assert.Equal(t, gpu.Some(false), active(gpu.ThrottleHWSlowdown))
	assert.False(t, active(gpu.ThrottleSyncBoost).Known(), "the device cannot report it")
	assert.Equal(t, gpu.Some(false), active(gpu.ThrottleSWThermal))
	assert.Equal(t, gpu.Some(true), active(gpu.ThrottleHWThermal))
	assert.Equal(t, gpu.Some(false), active(gpu.ThrottleHWPowerBrake))
	for _, r := range []gpu.ThrottleReason{gpu.ThrottlePowerPPT, gpu.ThrottleThermalGPU, gpu.ThrottleFirmwareReason} {
		assert.Equal(t, gpu.Throttle{}, d.Throttle[r], "a reason of AMD's")
	}
	total(t, 1.5, d.Throttle[gpu.ThrottleSWPowerCap].Time, "power cap")
	total(t, 2.5, d.Throttle[gpu.ThrottleSyncBoost].Time, "sync boost")
	total(t, 3.5, d.Throttle[gpu.ThrottleSWThermal].Time, "software thermal")
	total(t, 4.5, d.Throttle[gpu.ThrottleHWThermal].Time, "hardware thermal")
	total(t, 5.5, d.Throttle[gpu.ThrottleHWPowerBrake].Time, "power brake")
	total(t, 6.5, d.Throttle[gpu.ThrottleBoardLimit].Time, "board limit")
	total(t, 7.5, d.Throttle[gpu.ThrottleLowUtilization].Time, "low utilization")
	total(t, 8.5, d.Throttle[gpu.ThrottleReliability].Time, "reliability")

	total[int64](t, 912345678901, d.PCIe.Transmitted, "PCIe transmitted")
	total[int64](t, 1000002, d.PCIe.Received, "PCIe received")
	total[int64](t, 8, d.PCIe.ReplayRollovers, "PCIe replay rollovers")
	total[int64](t, 9, d.PCIe.Recoveries, "PCIe recoveries")
	total[int64](t, 10, d.PCIe.NAKsReceived, "PCIe NAKs received")
	total[int64](t, 11, d.PCIe.NAKsTransmitted, "PCIe NAKs transmitted")
	assert.Equal(t, gpu.Sessions{Count: gpu.Some[int64](2), FrameRate: gpu.Some(30.0), Latency: gpu.Some(0.004)}, d.Encoder)
	assert.Equal(t, gpu.Sessions{Count: gpu.Some[int64](3), FrameRate: gpu.Some(60.0), Latency: gpu.Some(0.005)}, d.FrameBuffer)
	assert.Equal(t, gpu.Some[int64](3), d.PCIe.Generation)
	assert.Equal(t, gpu.Some[int64](5), d.PCIe.GenerationLimit)
	assert.Equal(t, gpu.Some[int64](8), d.PCIe.Width)
	assert.Equal(t, gpu.Some[int64](16), d.PCIe.WidthLimit)

	assert.Equal(t, gpu.RemappedRows{
		Corrected: gpu.Total[int64](31), Uncorrected: gpu.Total[int64](32),
		Pending: gpu.Some(false), Failed: gpu.Some(false),
	}, d.RemappedRows)
	assert.Equal(t, gpu.RetiredPages{}, d.RetiredPages, "the board remaps rows instead")
	assert.Equal(t, gpu.Some(gpu.RecoveryNone), d.RecoveryAction)

	assert.Equal(t, gpu.NVLink, d.Interconnect.Type)
	total[int64](t, 2*4096, d.Interconnect.Transmitted, "NVLink transmitted")
	total[int64](t, 2*8192, d.Interconnect.Received, "NVLink received")
	total[int64](t, 7, d.PCIe.Replays, "PCIe replays")
	for kind, want := range map[gpu.LinkErrorType]int64{
		gpu.LinkErrorCRC: 2 * 3, gpu.LinkErrorReplay: 2 * 4, gpu.LinkErrorRecovery: 2 * 5, gpu.LinkErrorECC: 2 * 6,
	} {
		total(t, want, d.Interconnect.Errors[kind], fmt.Sprintf("NVLink errors %d", kind))
	}
	assert.Equal(t, map[gpu.ErrorType]int64{gpu.ErrorCorrected: 21, gpu.ErrorUncorrected: 22}, errorCounts(t, d.Errors, false))
	assert.Equal(t, map[gpu.ErrorType]int64{gpu.ErrorCorrected: 23, gpu.ErrorUncorrected: 24}, errorCounts(t, d.Errors, true))

	require.Len(t, d.Interconnect.Links, 2)
	link := d.Interconnect.Links[1]
	assert.Equal(t, "1", link.Name)
	total[int64](t, 4096, link.Transmitted, "transmitted by link 1")
	total[int64](t, 8192, link.Received, "received by link 1")
	total[int64](t, 4, link.Errors[gpu.LinkErrorReplay], "replays of link 1")

	assert.Equal(t, gpu.StateOK, d.State())
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{gpu.Some[int64](2), gpu.Some[int64](0), {}}, n.Presence)
}

func errorCounts(t *testing.T, errors []gpu.ErrorCount, lifetime bool) map[gpu.ErrorType]int64 {
	t.Helper()
	counts := map[gpu.ErrorType]int64{}
	for _, e := range errors {
		if e.Lifetime != lifetime {
			continue
		}
		n, ok := e.Count.Get()
		require.True(t, ok)
		require.NotContains(t, counts, e.Type, "counted twice")
		counts[e.Type] = n
	}
	return counts
}

// What a board does not report is absent, and no other value takes its place.
func TestAbsence(t *testing.T) {
	tests := map[string]struct {
		board string
		check func(*testing.T, *gpu.Device)
	}{
		"geforce": {"geforce", func(t *testing.T, d *gpu.Device) {
			t.Helper()
			assert.Empty(t, d.Info.Serial)
			assert.Empty(t, errorCounts(t, d.Errors, true))
			assert.Empty(t, d.Errors)
			total[int64](t, 0, d.PCIe.Replays, "PCIe replays")
			assert.Equal(t, gpu.RemappedRows{}, d.RemappedRows)
			assert.False(t, d.Interconnect.Transmitted.Known(), "it has no links")
			assert.False(t, d.Temperature[gpu.SensorMemory].Known())
			assert.Equal(t, [gpu.NumSensors][gpu.NumLimits]gpu.Opt[float64]{}, d.TemperatureLimit, "it has margins only")
			approx(t, 45, d.TemperatureMargin[gpu.LimitMax], "margin")
			assert.Len(t, d.Fans, 2)
		}},
		"turing": {"turing", func(t *testing.T, d *gpu.Device) {
			t.Helper()
			assert.Equal(t, gpu.RemappedRows{}, d.RemappedRows)
			assert.Equal(t, gpu.RetiredPages{
				Corrected: gpu.Total[int64](0), Uncorrected: gpu.Total[int64](0), Pending: gpu.Some(false),
			}, d.RetiredPages)
			assert.False(t, d.RecoveryAction.Known())
			assert.False(t, d.TemperatureMargin[gpu.LimitDegraded].Known())
			approx(t, 97, d.TemperatureLimit[gpu.SensorGPU][gpu.LimitDegraded], "slowdown")
			approx(t, 24, d.Power.Draw, "power, not averaged")
			assert.Equal(t, [gpu.NumPipes]gpu.Opt[float64]{}, d.Pipes)
		}},
		"gb10": {"gb10", func(t *testing.T, d *gpu.Device) {
			t.Helper()
			assert.Equal(t, gpu.Memory{}, d.Memory, "the memory is the system's")
			assert.False(t, d.Clocks[gpu.ClockMemory].Speed.Known())
			assert.False(t, d.Power.Limit[gpu.LimitEnforced].Known())
			assert.False(t, d.Power.Limit[gpu.LimitMax].Known())
		}},
		"ecc off": {"h100\necc = 0", func(t *testing.T, d *gpu.Device) {
			t.Helper()
			assert.NotContains(t, errorCounts(t, d.Errors, false), gpu.ErrorCorrected)
			assert.Empty(t, errorCounts(t, d.Errors, true))
		}},
		"sentinels": {"h100\npower.average = raw(0xFFFFFFFF)\nmemory.used = raw(0xFFFFFFFFFFFFFFFF)\npstate = 32\nutil.gpu = raw(250)\n" +
			"temperature.memory = raw(0xFFFFFFFF)\nthreshold.gpu_max = 0\nenergy = raw(0xFFFFFFFFFFFFFFFF)", func(t *testing.T, d *gpu.Device) {
			t.Helper()
			assert.False(t, d.Power.Draw.Known(), "power")
			assert.False(t, d.Memory.Usage.Known(), "memory")
			assert.True(t, d.Memory.Limit.Known(), "memory limit")
			assert.False(t, d.PerformanceState.Known(), "performance state")
			assert.False(t, d.Utilization[gpu.TaskGeneral].Known(), "utilization")
			assert.False(t, d.Temperature[gpu.SensorMemory].Known(), "memory temperature")
			assert.False(t, d.TemperatureLimit[gpu.SensorGPU][gpu.LimitMax].Known(), "threshold")
			assert.False(t, d.Energy.Known(), "energy")
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+tt.board)
			for range 2 { // what is remembered must not change what is reported
				n := b.read()
				assert.Empty(t, n.Problems)
				tt.check(t, gpuAt(t, n, 0))
			}
		})
	}
}

// A node stays as it is while the source is read again.
func TestNodesDoNotMix(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nboard = turing\npower = ramp(100, 200, 100)")
	first := gpuAt(t, b.read(), 0)
	power, fans := first.Power.Draw, first.Fans
	b.schedule(50, "")
	second := gpuAt(t, b.read(), 0)
	assert.Equal(t, gpu.Some(100.0), power)
	assert.Equal(t, gpu.Some(150.0), second.Power.Draw)
	require.Len(t, fans, 1)
	assert.NotSame(t, &fans[0], &second.Fans[0])
}

func TestNoGPUs(t *testing.T) {
	n := start(t, "gpus = 0").read()
	assert.Empty(t, ids(n))
	assert.Empty(t, n.Problems)
	assert.Equal(t, gpu.Some[int64](0), n.Presence[gpu.Visible])
	assert.Equal(t, gpu.Some[int64](0), n.Presence[gpu.Missing])
}

func TestFractionsAreFractions(t *testing.T) {
	n := start(t, everything).read()
	for i := range n.Devices {
		for _, u := range n.Devices[i].Utilization[:gpu.TaskMedia] {
			v := value2(t, u)
			assert.False(t, v < 0 || v > 1 || math.IsNaN(v), "%v", v)
		}
		assert.False(t, n.Devices[i].Utilization[gpu.TaskMedia].Known(), "an engine of AMD's")
	}
	assert.Equal(t, manualEpoch, n.Time, "when the read began")
}

// The revolutions of the first fan are known even if its share is not wanted. A board without fans has no revolutions.
func TestFanRevolutions(t *testing.T) {
	for board, want := range map[string][]gpu.Fan{
		"geforce":                  {{Location: "fan0", Speed: gpu.Some[int64](900)}},
		"h100":                     nil,
		"geforce\nfan.rpm = 0":     {{Location: "fan0", Speed: gpu.Some[int64](0)}},
		"geforce\nfan.rpm = 99999": nil,
	} {
		t.Run(board, func(t *testing.T) {
			assert.Equal(t, want, gpuAt(t, start(t, "gpus = 1\n[gpu 0]\nboard = "+board, gpu.GroupFanSpeed).read(), 0).Fans)
		})
	}
}

// The window of a MIG instance is its own part. A GPU without its own memory has no window.
func TestBAR1(t *testing.T) {
	n := start(t, "gpus = 1\n[gpu 0]\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 1\nci = 0\nbar1.total = 64Gi\nbar1.used = 1Mi", gpu.GroupBAR1).read()
	assert.Equal(t, gpu.Memory{BAR1Limit: gpu.Some[int64](64 << 30), BAR1Usage: gpu.Some[int64](1 << 20)}, n.Devices[1].Memory)
	assert.True(t, n.Devices[0].Memory.BAR1Limit.Known())
}

func TestNoBAR1(t *testing.T) {
	n := start(t, "gpus = 1\n[gpu 0]\nboard = gb10", gpu.GroupBAR1).read()
	assert.Empty(t, n.Problems)
	assert.Equal(t, gpu.Memory{}, gpuAt(t, n, 0).Memory)
}

// A GPU that uses the system's memory has no memory of its own, but the driver reports the memory of each process.
func TestUnifiedMemory(t *testing.T) {
	for _, want := range []gpu.Group{gpu.GroupAll, gpu.GroupProcesses} {
		b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nboard = gb10\n[process p]\ngpu = 0\npid = 7\nmemory = 5Gi\nsm = 28", want)
		b.schedule(10, "")
		n := b.read()
		assert.Equal(t, gpu.Memory{}, gpuAt(t, n, 0).Memory)
		require.Len(t, n.Processes, 1)
		assert.Equal(t, gpu.Some[int64](5<<30), n.Processes[0].Memory, "the driver reports what a process has of the machine's memory")
		require.NoError(t, b.Close())
	}
	b := start(t, "gpus = 1\n[gpu 0]\nboard = gh200\nmemory.used = 3Gi\npower.module = 610")
	d := gpuAt(t, b.read(), 0)
	assert.Equal(t, gpu.Some[int64](3<<30), d.Memory.Usage, "that one has memory of its own")
	approx(t, 610, d.Power.Module, "module power")
}
