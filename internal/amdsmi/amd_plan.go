// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// step is one command of a read.
type step string

// The steps, in the order in which they are run: what may be slow comes last, since a command that does not end in time
// takes those after it along.
const (
	stepVersion step = "version"
	stepList    step = "list"
	stepStatic  step = "static"
	stepMetric  step = "metric"
	stepProcess step = "process"
	stepXGMI    step = "xgmi"
	// stepPCIe is a metric call of its own: with the link and the replays it measures traffic, for a second per device on
	// boards up to MI200.
	stepPCIe step = "metric --pcie"
)

// amdFlag is an option of amd-smi metric. Without any it would print everything, xgmi_err included, which reading clears.
type amdFlag struct {
	flag   string
	groups gpu.Group
	// extra: left out when amd-smi ends with an exception, which it does not say in which section.
	extra bool
}

// amdMetricFlags have the short names, which did not change. Inside virtual machines several do not exist.
var amdMetricFlags = []amdFlag{
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

// amdArgs returns the arguments of a step, without --json; nil where there is nothing to ask for.
func amdArgs(s step, want gpu.Group, refused map[string]bool) []string {
	if refused[string(s)] {
		return nil
	}
	switch s {
	case stepList:
		if refused["-e"] {
			return []string{"list"}
		}
		return []string{"list", "-e"}
	case stepMetric:
		args := []string{"metric"}
		for _, f := range amdMetricFlags {
			if want.Has(f.groups) && !refused[metricRefusal(f.flag)] {
				args = append(args, f.flag)
			}
		}
		if len(args) == 1 {
			return nil
		}
		return args
	case stepStatic:
		if refused[staticLimits] {
			return []string{"static", "-a", "-b", "-V", "-d", "-B", "-v", "-u"}
		}
		return []string{"static"}
	case stepProcess:
		return wanted(want, gpu.GroupProcesses, "process")
	case stepXGMI:
		return wanted(want, gpu.GroupInterconnect|gpu.GroupInterconnectLinks, "xgmi", "-m")
	case stepPCIe:
		return wanted(want, gpu.GroupPCIeLink|gpu.GroupPCIeReplay, "metric", "-P")
	default:
		return []string{string(s)}
	}
}

// staticLimits is under what it is noted that static ends with an exception unless it is asked for single sections: that of
// the limits does in ROCm 6.1 where a device has no cap of power.
const staticLimits = "static -l"

func wanted(want, groups gpu.Group, args ...string) []string {
	if !want.Has(groups) {
		return nil
	}
	return args
}

// metricRefusal is under what the refusal of one of metric's options is noted: list has options of the same names.
func metricRefusal(flag string) string { return "metric " + flag }

// amdRefuse notes what a version of amd-smi does not know, from its error: "Parameter '-e' is invalid.", "Command 'xgmi' is
// invalid." Another error, such as that a device is busy, is none of the version's, and what it costs is tried again with the next
// static part. It tells whether the step can be tried again without.
func amdRefuse(s step, message string, refused, passing map[string]bool) bool {
	named, invalid := quoted(message), strings.Contains(message, "is invalid")
	switch s {
	case stepList:
		if slices.Contains(named, "-e") && !refused["-e"] {
			refused["-e"] = true
			return true
		}
	case stepMetric:
		again := false
		for _, f := range amdMetricFlags {
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

// amdExcept notes what to leave out of a step that ended with an exception, until it is tried again with the next static
// part. It tells whether the step can be tried again without.
func amdExcept(s step, refused, passing map[string]bool) bool {
	again := false
	drop := func(key string) {
		if !refused[key] {
			refused[key], passing[key] = true, true
			again = true
		}
	}
	switch s {
	case stepMetric:
		for _, f := range amdMetricFlags {
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

func amdCommand(args []string) command.Command {
	return command.Command{Tool: command.AMDSMI, Args: append(slices.Clone(args), "--json")}
}
