// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// option is an option of amd-smi metric. Without any it would print everything, xgmi_err included, which reading clears.
type option struct {
	flag   string
	groups gpu.Group
	// extra: left out when amd-smi ends with an exception, which it does not say in which section.
	extra bool
}

// metricOptions have the short names, which did not change. Inside virtual machines several do not exist.
var metricOptions = []option{
	{flag: "-u", groups: gpu.GroupUtilization | gpu.GroupMediaUtilization},
	{flag: "-m", groups: gpu.GroupMemory},
	{flag: "-p", groups: gpu.GroupPower | gpu.GroupPowerDetail},
	{flag: "-t", groups: gpu.GroupTemperature},
	{flag: "-c", groups: gpu.GroupClocks | gpu.GroupClockLimits, extra: true},
	{flag: "-k", groups: gpu.GroupECC, extra: true},
	{flag: "-e", groups: gpu.GroupECC, extra: true},
	{flag: "-f", groups: gpu.GroupFans, extra: true},
	{flag: "-E", groups: gpu.GroupEnergy, extra: true},
	{flag: "--throttle", groups: gpu.GroupThrottle | gpu.GroupThrottleTime, extra: true}, // since 6.3; 100 ms per device
}

// metricRefusal is under what the refusal of one of metric's options is noted: list has options of the same names.
func metricRefusal(flag string) string { return "metric " + flag }

// refuse notes what a version of amd-smi does not know, from its error: "Parameter '-e' is invalid.", "Command 'xgmi' is
// invalid." Another error, such as that a device is busy, is none of the version's, and what it costs is tried again with the next
// static part. It tells whether the step can be tried again without.
func refuse(s step, message string, refused, passing map[string]bool) bool {
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
	case stepXGMI, stepPCIe, stepVersion:
		refused[string(s)] = true
		if !invalid {
			passing[string(s)] = true
		}
	case stepProcess:
		refused[string(s)] = invalid
	}
	return false
}

// dropAfterException notes what to leave out of a step that ended with an exception, until it is tried again with the next static
// part. It tells whether the step can be tried again without.
func dropAfterException(s step, refused, passing map[string]bool) bool {
	again := false
	drop := func(key string) {
		if !refused[key] {
			refused[key], passing[key] = true, true
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
	case stepXGMI, stepPCIe:
		drop(string(s))
		return false
	}
	return again
}

// quoted returns what stands in single quotes.
func quoted(s string) []string {
	parts := strings.Split(s, "'")
	var result []string
	for i := 1; i < len(parts); i += 2 {
		result = append(result, strings.TrimSpace(parts[i]))
	}
	return result
}
