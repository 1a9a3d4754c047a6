// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// option is an option of amd-smi metric. Without options it prints everything, including xgmi_err, which reading clears.
type option struct {
	flag   string
	groups gpu.Group
	extra  bool // left out after an exception: amd-smi does not say which section caused it
}

// metricOptions are the options by their short names, which did not change between versions. Some do not exist in virtual machines.
var metricOptions = []option{
	{flag: "-u", groups: gpu.GroupUtilization | gpu.GroupMediaUtilization | gpu.GroupXCCUtilization},
	{flag: "-m", groups: gpu.GroupMemory},
	{flag: "-p", groups: gpu.GroupPower | gpu.GroupPowerDetail | gpu.GroupVoltage | gpu.GroupThrottle | gpu.GroupEnergy}, // the power shows the unit of the energy
	{flag: "-t", groups: gpu.GroupTemperature | gpu.GroupTemperatureDetail},
	{flag: "-c", groups: gpu.GroupClocks | gpu.GroupClockLimits, extra: true},
	{flag: "-k", groups: gpu.GroupECC, extra: true},
	{flag: "-e", groups: gpu.GroupECC, extra: true},
	{flag: "-f", groups: gpu.GroupFans | gpu.GroupFanSpeed, extra: true},
	{flag: "-E", groups: gpu.GroupEnergy, extra: true},
	{flag: "--throttle", groups: gpu.GroupThrottle | gpu.GroupThrottleTime, extra: true}, // since 6.3; 100 ms per device
}

// staticLimits is the key in refused under which static runs section by section, without the limits: in ROCm 6.1 these end the tool with an
// exception if a device has no power limit.
const staticLimits = "static -l"

// linkStatus is the key in refused under which xgmi runs without the states of the links, which it has since 6.4.
const linkStatus = "xgmi -l"

// metricRefusal returns the key in refused of an option of metric: list has options of the same names.
func metricRefusal(flag string) string { return "metric " + flag }

// refuse takes note of what a version of amd-smi does not know, from its error: "Parameter '-e' is invalid.", "Command 'xgmi' is
// invalid." Another error, such as that a device is busy, does not come from the version: the step is tried again when static is read
// again. It reports whether the step can run again without what was refused.
func refuse(s step, message string, refused, temporary map[string]bool) bool {
	named, invalid := quoted(message), strings.Contains(message, "is invalid")
	switch s {
	case stepList:
		if slices.Contains(named, "-e") && !refused["-e"] {
			refused["-e"] = true
			return true
		}
	case stepMetric:
		again := false
		for _, f := range metricOptions {
			if key := metricRefusal(f.flag); slices.Contains(named, f.flag) && !refused[key] {
				refused[key] = true
				again = true
			}
		}
		return again
	case stepXGMI, stepPCIe, stepVersion, stepBadPages:
		if s == stepXGMI && slices.Contains(named, "-l") && !refused[linkStatus] {
			refused[linkStatus] = true
			return true
		}
		refused[string(s)] = true
		if !invalid {
			temporary[string(s)] = true
		}
	case stepProcess:
		refused[string(s)] = invalid
	}
	return false
}

// dropAfterException takes note of what to leave out of a step that ended with an exception, until static is read again. It reports
// whether the step can run again without it.
func dropAfterException(s step, refused, temporary map[string]bool) bool {
	again := false
	drop := func(key string) {
		if !refused[key] {
			refused[key], temporary[key] = true, true
			again = true
		}
	}
	switch s {
	case stepMetric:
		for _, f := range metricOptions {
			if f.extra {
				drop(metricRefusal(f.flag))
			}
		}
	case stepStatic:
		drop(staticLimits)
	case stepXGMI:
		drop(linkStatus)
		if !again {
			drop(string(s))
			return false
		}
	case stepPCIe, stepBadPages:
		drop(string(s))
		return false
	}
	return again
}

// quoted returns the parts of a text that are in single quotes.
func quoted(s string) []string {
	parts := strings.Split(s, "'")
	var result []string
	for i := 1; i < len(parts); i += 2 {
		result = append(result, strings.TrimSpace(parts[i]))
	}
	return result
}
