// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"strconv"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func (b *board) readTemperature(d *gpu.Device) {
	// NVML's type is unsigned, and a GPU in the cold is below zero.
	d.Temperature[gpu.SensorGPU] = celsius(signed(b.number(fnTemperature)))
	d.Temperature[gpu.SensorMemory] = celsius(b.fields.get(fieldMemoryTemperature))
}

var thresholds = [...]struct {
	fn     function
	kind   gonvml.TemperatureThresholds
	sensor gpu.Sensor
	limit  gpu.Limit
}{
	{fnThresholdSlowdown, gonvml.TEMPERATURE_THRESHOLD_SLOWDOWN, gpu.SensorGPU, gpu.LimitDegraded},
	{fnThresholdShutdown, gonvml.TEMPERATURE_THRESHOLD_SHUTDOWN, gpu.SensorGPU, gpu.LimitCritical},
	{fnThresholdGPUMax, gonvml.TEMPERATURE_THRESHOLD_GPU_MAX, gpu.SensorGPU, gpu.LimitMax},
	{fnThresholdMemoryMax, gonvml.TEMPERATURE_THRESHOLD_MEM_MAX, gpu.SensorMemory, gpu.LimitMax},
}

// readTemperatureLimits reads the absolute thresholds, which do not change, and how many degrees are left until the GPU
// slows down, which newer boards tell in their place. The one is never made out of the other.
func (b *board) readTemperatureLimits(d *gpu.Device) {
	for i := range thresholds {
		t := &thresholds[i]
		limit := &b.static.limits[t.sensor][t.limit]
		if !limit.Known() && b.can(t.fn) {
			if v, ret := b.handle.GetTemperatureThreshold(t.kind); b.ok(t.fn, code(ret)) {
				degrees, told := unsigned(v)
				*limit = celsius(degrees, told && v > 0) // 0 is how boards without such a threshold answer
				b.never[t.fn] = !limit.Known()
			}
		}
		d.TemperatureLimit[t.sensor][t.limit] = *limit
	}
	if m, ok := b.ask(fnMargin); ok {
		margin := value{real: float64(filled[gonvml.MarginTemperature](m).MarginTemperature)}
		d.TemperatureMargin[gpu.LimitDegraded] = celsius(margin, true)
	}
}

// readFans reads the speed of each fan, as a fraction of its highest.
func (b *board) readFans(d *gpu.Device) {
	switch {
	case b.supported(fnFanCount) && b.supported(fnFanSpeedV2):
		if !b.static.fans.Known() && b.can(fnFanCount) {
			if n, ret := b.handle.GetNumFans(); b.ok(fnFanCount, code(ret)) {
				b.static.fans = gpu.Some(min(n, mostFans))
			}
		}
		n, _ := b.static.fans.Get()
		for fan := range n {
			if !b.can(fnFanSpeedV2) {
				return
			}
			if v, ok := b.askFor(fnFanSpeedV2, fan); ok {
				addFan(d, fan, v)
			}
		}
	case !b.has[fnFanCount]:
		if v, ok := b.ask(fnFanSpeed); ok {
			addFan(d, 0, v)
		}
	}
}

// addFan adds a fan that told its speed; one may turn faster than it should be able to.
func addFan(d *gpu.Device, fan int, answer *call) {
	if percent, ok := unsigned(answer.number()); ok {
		d.Fans = append(d.Fans, gpu.Fan{Location: fanName(fan), Ratio: gpu.Some(percent.real / 100)})
	}
}

const mostFans = 16

var fanNames = [...]string{"fan0", "fan1", "fan2", "fan3"}

func fanName(i int) string {
	if i < len(fanNames) {
		return fanNames[i]
	}
	return "fan" + strconv.Itoa(i)
}
