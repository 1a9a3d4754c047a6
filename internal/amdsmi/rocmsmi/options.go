// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// option is an option of rocm-smi and the groups that need it.
type option struct {
	flag   string
	args   []string
	groups gpu.Group // none: always
	// extra: left out after an exception. Not every version has it, or it ends the tool if the driver lacks what it shows.
	extra bool
}

// jsonOptions are the options of the call with --json. All of them only read.
var jsonOptions = []option{
	{flag: "--showuniqueid"},
	{flag: "--showbus"},
	{flag: "--showproductname"},
	{flag: "--showserial"},
	{flag: "--showvbios"},
	{flag: "--showdriverversion"},
	{flag: "--showuse", groups: gpu.GroupUtilization},
	{flag: "--showmeminfo", args: []string{"vram", "vis_vram", "gtt"}, groups: gpu.GroupMemory},
	{flag: "--showtemp", groups: gpu.GroupTemperature | gpu.GroupTemperatureDetail},
	{flag: "--showpower", groups: gpu.GroupPower | gpu.GroupPowerDetail | gpu.GroupEnergy}, // it shows the unit of the energy
	{flag: "--showmaxpower", groups: gpu.GroupPowerLimit | gpu.GroupEnergy},                // how fast a counter may wrap
	{flag: "--showclocks", groups: gpu.GroupClocks | gpu.GroupPCIeLink},
	{flag: "--showfan", groups: gpu.GroupFans | gpu.GroupFanSpeed},
	{flag: "--showvoltage", groups: gpu.GroupVoltage},
	{flag: "--showreplaycount", groups: gpu.GroupPCIeReplay},
	{flag: "--showpids", groups: gpu.GroupProcesses},
	{flag: "--showmemuse", groups: gpu.GroupUtilization, extra: true},   // an exception in 6.2 if the driver does not report VRAM
	{flag: "--showenergycounter", groups: gpu.GroupEnergy, extra: true}, // since 4.3
	{flag: "--showtoponuma", extra: true},                               // since 4.0
	{flag: "--showcomputepartition", extra: true},                       // since 5.5
	{flag: "--showmemorypartition", extra: true},                        // since 6.0
}

// textOptions are the options that print nothing with --json.
var textOptions = []option{
	{flag: optionRAS, args: []string{"all"}, groups: gpu.GroupECC, extra: true},
	{flag: "--showpidgpus", groups: gpu.GroupProcesses},
	{flag: "--showpids", groups: gpu.GroupProcesses}, // in JSON all names are in lower case
}

// optionRAS may end the tool: the library of 5.2.3 aborts on the deferred errors that later drivers count.
const optionRAS = "--showrasinfo"

// arguments returns the arguments for the options that are wanted and not refused; nil if there are none.
func arguments(flags []option, want gpu.Group, refused map[string]bool) []string {
	var args []string
	for i := range flags {
		f := &flags[i]
		if f.groups != 0 && !want.Has(f.groups) || refused[f.flag] {
			continue
		}
		args = append(append(args, f.flag), f.args...)
	}
	return args
}

// refuse takes note of options that a version of rocm-smi does not know, from the error of Python's argparse: "error: unrecognized
// arguments: --showcomputepartition". An exception names none; then all extra options are left out. It reports whether another attempt
// differs from this one.
func refuse(flags []option, stderr []byte, refused map[string]bool) bool {
	_, names, _ := strings.Cut(string(stderr), "unrecognized arguments:")
	named := strings.Fields(names)
	ended := smitext.IsException(stderr)
	again := false
	for i := range flags {
		f := &flags[i]
		if !refused[f.flag] && (slices.Contains(named, f.flag) || ended && f.extra) {
			refused[f.flag] = true
			again = true
		}
	}
	return again
}
