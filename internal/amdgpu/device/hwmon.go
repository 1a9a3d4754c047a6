// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const maxSensorFiles = 1024

// sensorGroups are the groups that need the files of the sensors.
const sensorGroups = gpu.GroupTemperature | gpu.GroupTemperatureLimits | gpu.GroupPower | gpu.GroupPowerDetail | gpu.GroupPowerLimit |
	gpu.GroupEnergy | gpu.GroupClocks | gpu.GroupThrottle | gpu.GroupThrottleTime | gpu.GroupFans | gpu.GroupFanSpeed | gpu.GroupVoltage

// sensors locates the sensors of a GPU (hwmon). Names of files are relative to the GPU's directory.
type sensors struct {
	dir         string                      // hwmon/hwmon3; empty if there are no sensors
	temperature [gpu.NumSensors]string      // hwmon/hwmon3/temp2, for temp2_input, temp2_crit, temp2_emergency
	frequency   [gpu.NumClockDomains]string // hwmon/hwmon3/freq1, for freq1_input
	voltages    []voltageSensor             // by their numbers
}

// voltageSensor is a sensor of a voltage.
type voltageSensor struct {
	location string // gfx, of the label vddgfx
	name     string // hwmon/hwmon3/in0, for in0_input
}

// findSensors finds the sensors by their labels. It asks the GPU for nothing.
func findSensors(r *reader) sensors {
	var s sensors
	names, err := sysfs.Names(r.dir+"/hwmon", maxSensorFiles)
	r.note(err)
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "hwmon") })
	if i < 0 {
		return s
	}
	s.dir = "hwmon/" + names[i]
	names, err = sysfs.Names(r.dir+"/"+s.dir, maxSensorFiles)
	r.note(err)
	slices.Sort(names)
	for _, name := range names {
		if sensor, ok := strings.CutSuffix(name, "_input"); ok {
			s.add(s.dir+"/"+sensor, sensorLabel(r, s.dir+"/"+sensor))
		}
	}
	return s
}

// sensorLabel reads the label of a sensor. Before the driver had labels, the edge temperature was the only one.
func sensorLabel(r *reader, sensor string) string {
	text, err := sysfs.Read(r.dir + "/" + sensor + "_label")
	r.note(err)
	if err != nil && strings.HasSuffix(sensor, "/temp1") {
		return "edge"
	}
	return sysfs.Label(string(text))
}

func (s *sensors) add(name, label string) {
	switch label {
	case "edge":
		s.temperature[gpu.SensorEdge] = name
	case "junction":
		s.temperature[gpu.SensorHotspot] = name
	case "mem":
		s.temperature[gpu.SensorMemory] = name
	case "sclk":
		s.frequency[gpu.ClockGraphics] = name
	case "mclk":
		s.frequency[gpu.ClockMemory] = name
	default:
		if location, ok := strings.CutPrefix(label, "vdd"); ok && location != "" {
			s.voltages = append(s.voltages, voltageSensor{location, name})
		}
	}
}

// file returns the name of a file of the sensors that has no label; empty if there are no sensors.
func (s *sensors) file(name string) string {
	if s.dir == "" {
		return ""
	}
	return s.dir + "/" + name
}

// fileOf returns the name of a file of one sensor; empty if the GPU does not have the sensor.
func fileOf(sensor, suffix string) string {
	if sensor == "" {
		return ""
	}
	return sensor + suffix
}
