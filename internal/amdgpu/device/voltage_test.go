// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestVoltagesAndFan: the sensors' voltages are preferred to the voltages of the table, and a board may have no fan.
func TestVoltagesAndFan(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"in0_input": "912\n", "in0_label": "vddgfx\n", "in1_input": "0\n", "in1_label": "vddnb\n", "in2_input": "1200\n", "in2_label": "other\n",
	} {
		write(t, filepath.Join(dir, "hwmon/hwmon3", name), text)
	}
	read := func(want gpu.Group) gpu.Device {
		r := &reader{readFile: sysfs.Read, dir: dir}
		table := gpumetrics.Table{Voltages: []gpu.SensorValue{
			{Location: "gfx", Value: gpu.Some(0.5)}, {Location: "mem", Value: gpu.Some(1.25)},
		}}
		var d gpu.Device
		s := findSensors(r)
		readVoltages(r, s, &table, &d)
		readFan(r, want, s, &d)
		assert.Empty(t, r.problems)
		return d
	}
	d := read(gpu.GroupAll)
	assert.Equal(t, []gpu.SensorValue{{Location: "gfx", Value: gpu.Some(0.912)}, {Location: "mem", Value: gpu.Some(1.25)}}, d.Voltage)
	assert.Empty(t, d.Fans)

	write(t, filepath.Join(dir, "hwmon/hwmon3/fan1_input"), "1312\n")
	write(t, filepath.Join(dir, "hwmon/hwmon3/pwm1"), "51\n")
	speed := gpu.Fan{Location: "fan0", Speed: gpu.Some[int64](1312)}
	assert.Equal(t, []gpu.Fan{speed}, read(gpu.GroupFanSpeed).Fans)
	assert.Equal(t, []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(0.2)}}, read(gpu.GroupFans).Fans)
	write(t, filepath.Join(dir, "hwmon/hwmon3/fan1_input"), "4294967295\n")
	assert.Empty(t, read(gpu.GroupFanSpeed).Fans, "all bits of a register")
}
