// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// arguments returns the arguments of a step without --json; nil if nothing of the step is wanted.
func arguments(s step, want gpu.Group, refused map[string]bool) []string {
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
		for _, f := range metricOptions {
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
		return argsFor(want, gpu.GroupProcesses, "process")
	case stepXGMI:
		return xgmiArguments(want, refused[linkStatus])
	case stepPCIe:
		return argsFor(want, gpu.GroupPCIeLink|gpu.GroupPCIeReplay|gpu.GroupPCIeDetail, "metric", "-P")
	case stepBadPages:
		return argsFor(want, gpu.GroupRemappedRows, string(s))
	default:
		return []string{string(s)}
	}
}

// xgmiArguments returns the arguments of xgmi: the bytes and the speed of the links, and whether they are up.
func xgmiArguments(want gpu.Group, withoutStatus bool) []string {
	args := argsFor(want, gpu.GroupInterconnect|gpu.GroupInterconnectLinks|gpu.GroupInterconnectSpeed, "xgmi", "-m")
	if withoutStatus || !want.Has(gpu.GroupInterconnectState) {
		return args
	}
	if args == nil {
		args = []string{"xgmi"}
	}
	return append(args, "-l")
}

func argsFor(want, groups gpu.Group, args ...string) []string {
	if !want.Has(groups) {
		return nil
	}
	return args
}

func newCommand(args []string) command.Command {
	return command.Command{Tool: command.AMDSMI, Args: append(slices.Clone(args), "--json")}
}
