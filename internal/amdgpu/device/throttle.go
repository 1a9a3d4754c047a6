// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// throttleBits are the bits of indep_throttle_status, the throttle status in the form that is the same for every ASIC
// (SMU_THROTTLER_*_BIT in the kernel's amdgpu_smu.h).
var throttleBits = [...]struct {
	reason gpu.ThrottleReason
	bits   uint64
}{
	{gpu.ThrottlePowerPPT, 0xff},                                    // PPT0 to 3, SPL, FPPT, SPPT, SPPT of the APU
	{gpu.ThrottleCurrent, 0x7f << 16},                               // TDC and EDC
	{gpu.ThrottleThermalGPU, 1<<32 | 1<<33 | 1<<35 | 1<<36 | 1<<37}, // GPU, core, edge, hotspot, SoC
	{gpu.ThrottleThermalMemory, 1 << 34},
	{gpu.ThrottleThermalVR, 0xf<<38 | 1<<44 | 1<<45}, // VR of GFX, SoC and memory, VRHOT
	{gpu.ThrottleThermalExtern, 0x3<<42 | 0x3<<46},   // liquid cooling, PROCHOT
	{gpu.ThrottleFirmwareReason, 1<<23 | 0x3<<56},    // APCC, PPM, FIT
}

// setThrottleStatus sets which limiters are active now.
func setThrottleStatus(d *gpu.Device, status gpu.Opt[uint64]) {
	bits, ok := status.Get()
	if !ok {
		return
	}
	for _, t := range throttleBits {
		d.Throttle[t.reason].Active = gpu.Some(bits&t.bits != 0)
	}
}

// heatSensors are the sensors whose limits a reason is about.
var heatSensors = map[gpu.ThrottleReason][]gpu.Sensor{
	gpu.ThrottleThermalGPU:    {gpu.SensorEdge, gpu.SensorHotspot},
	gpu.ThrottleThermalMemory: {gpu.SensorMemory},
}

// cool is how far below the limit each sensor is, in K, if heat cannot slow the GPU down. The firmware may begin somewhat below the limit.
const cool = 35

// dropContradicted drops heat bits of the status that the sensors contradict. Some firmware sets bits of heat all the time, such as an idle
// RX 7600S at 54 °C.
func dropContradicted(r *reader, s sensors, table *gpumetrics.Table, d *gpu.Device) {
	var heat *gpu.Device
	for reason, which := range heatSensors {
		if d.Throttle[reason].Active != gpu.Some(true) {
			continue
		}
		if heat == nil {
			heat = &gpu.Device{}
			readTemperatures(r, gpu.GroupTemperature|gpu.GroupTemperatureLimits, s, table, heat)
		}
		if allCool(heat, which) {
			d.Throttle[reason].Active = gpu.Opt[bool]{}
		}
	}
}

// allCool reports whether each of the sensors that a GPU has is far below its limit.
func allCool(d *gpu.Device, which []gpu.Sensor) bool {
	known := false
	for _, sensor := range which {
		celsius, ok := d.Temperature[sensor].Get()
		if !ok {
			continue
		}
		limit, limited := d.TemperatureLimit[sensor][gpu.LimitDegraded].Get()
		if !limited || celsius > limit-cool {
			return false
		}
		known = true
	}
	return known
}

var residencyReasons = [gpumetrics.NumResidencies]gpu.ThrottleReason{
	gpumetrics.ResidencyProchot:       gpu.ThrottleThermalExtern,
	gpumetrics.ResidencyPPT:           gpu.ThrottlePowerPPT,
	gpumetrics.ResidencySocketThermal: gpu.ThrottleThermalGPU,
	gpumetrics.ResidencyVRThermal:     gpu.ThrottleThermalVR,
	gpumetrics.ResidencyHBMThermal:    gpu.ThrottleThermalMemory,
}

// throttleTimes follows the residencies of the gpu_metrics table.
type throttleTimes struct {
	residency counter.Residency
	hostLimit hostLimits
	apu       apuLimiters
}

// read sets how long each limiter was active. A table without the counts says nothing.
func (t *throttleTimes) read(d *gpu.Device, table *gpumetrics.Table, now time.Time) {
	t.apu.read(d, table)
	total, ok := table.Accumulations.Get()
	clock, timed := table.ClockCounter.Get()
	if !ok || !timed {
		return
	}
	looks := counter.Looks{Clock: gpu.Some(time.Duration(clock)), Total: total, Limiters: table.Residencies[:]}
	for i, limiter := range t.residency.Read(looks, now) {
		throttle := &d.Throttle[residencyReasons[i]]
		throttle.Active = limiter.Active.Or(throttle.Active)
		throttle.Time = limiter.Time
	}
	t.hostLimit.read(d, table, now)
}
