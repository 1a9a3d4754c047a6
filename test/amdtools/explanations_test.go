// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdtools

import (
	"math"

	"github.com/otelgpu/gpureceiver/test/differential"
)

// refusal is why a source cannot read a machine with a tool.
type refusal struct {
	message string // part of the source's error
	why     string
}

var (
	noVoltage  = refusal{"output is not JSON: it is empty: ERROR:root:ROCm SMI returned 8", "the tool cannot do without a sensor of the core voltage, and MI300 came after it"}
	noIdentity = refusal{
		"it shows neither a unique id nor a PCI address of any GPU",
		"the APU has no unique_id file, and amd-smi gets the PCI address from the DRM device, which the simulation does not have",
	}
)

var refusals = map[string]refusal{
	"mi300x-1.5 rocm-smi 5.2.3": noVoltage,
	"mi300x-spx rocm-smi 5.2.3": noVoltage,
	"mi300x-cpx rocm-smi 5.2.3": noVoltage,
	"apu amd-smi 24.5.2":        noIdentity,
}

// ratio: the tool's value is this multiple of ours.
func ratio(r float64) func(ours, theirs any) bool {
	return func(ours, theirs any) bool {
		a, ok := ours.(float64)
		b, also := theirs.(float64)
		return ok && also && math.Abs(a*r-b) <= 1e-6*math.Abs(b)+0.01
	}
}

const (
	rocm   = "rocm-smi .*"
	rocm12 = "rocm-smi 5.2.3"
	amd    = "amd-smi .*"
	every  = ".*"
)

var explanations = []differential.Explanation{
	// Values that the tools do not report.
	differential.Because(every, every, ".* Name", differential.Differs, "the tools number the GPUs; the driver's files name them"),
	differential.Because(every, every, ".* Aliases.*", differential.Missing, "the tools do not name DRM nodes"),
	differential.Because(every, every, "node Presence.2.", differential.Missing, "the tools look at the driver's GPUs only"),
	differential.Because(every, every, ".* PCIe.(Generation|Width)Limit", differential.Missing, "the tools print the link as it is; amd-smi its limits with the DRM device"),
	differential.Because(every, rocm, ".* Errors umc deferred", differential.Missing, "printed by neither version"),
	differential.Because(every, rocm, ".* Clocks.video..Speed", differential.Missing, "printed by neither version"),
	differential.Because("mi250", rocm12, ".* Errors .*(corrected)", differential.Missing, "it aborts where the driver counts deferred errors"),
	differential.Because("apu", rocm12, ".* Power.Draw", differential.Missing, "before 6.0 it knew average power only"),
	differential.Because("apu", rocm, ".* Power.Module", differential.Missing, "rocm-smi does not tell an APU"),
	differential.Because("apu", rocm, ".* Power.Draw", differential.Differs, "the package's, with the CPU"),
	differential.Because("apu", rocm, ".* Power.Instant", differential.More, "the package's, with the CPU"),
	differential.Because("mi100", rocm, ".* Model", differential.Missing, "it has no table of names to look the board up in"),
	differential.Because("mi100", "rocm-smi 5.2.3|amd-smi .*", ".* Energy", differential.Missing, "neither target nor model is printed: the unit of the counter is known after 10 s, by the power"),
	differential.Because("mi300x-(spx|cpx)", rocm, ".* Energy", differential.Missing, "from the table, of a revision that came after it"),
	differential.Because("mi300x-(spx|cpx)", amd, ".* (Energy|Utilization.*|MemoryController|Clocks.*Speed)", differential.Missing, "from the table, of a revision that came after it"),
	differential.Because("mi300x-cpx", every, ".*/[0-9] Memory.*", differential.Missing, "of a partition these versions print the GPU's"),
	differential.Because("mi300x-cpx", rocm, ".*/0 Aliases.0.", differential.Differs, "the tools do not name DRM nodes, the PCI address apart"),
	differential.Because(every, every, ".* Throttle.*(Active|Time)", differential.Missing, "before ROCm 6.3 the tools report no throttle reasons"),
	differential.Because(every, every, ".* Clocks.*Limit", differential.Missing, "rocm-smi prints no limits; amd-smi asks the DRM device for them"),
	differential.Because(every, rocm, ".* TemperatureLimit.*", differential.Missing, "rocm-smi prints no limits"),
	differential.Because(every, rocm, ".* Power.Limit.max.", differential.Missing, "what rocm-smi calls the maximum is the limit in force"),
	differential.Because(every, rocm12, ".* Info.(ComputeCapability|Architecture)", differential.Missing, "printed since 6.1"),
	differential.Because(every, rocm, ".* Info.BoardPartNumber", differential.Missing, "rocm-smi does not print it"),
	differential.Because(every, every, ".* Power.Limit.default.", differential.Missing, "printed by no version"),
	differential.Because(every, every, ".* PCIe.(NAKs.*|Recoveries|ReplayRollovers)", differential.Missing, "rocm-smi prints replays alone; amd-smi asks the DRM device"),
	differential.Because(every, every, ".* RetiredPages.Bad.*", differential.Missing, "rocm-smi prints a line for each page; amd-smi, without the DRM device, none"),
	differential.Because("mi300x-.*|radeon", rocm, ".* TemperatureDetail.*", differential.Missing, "rocm-smi prints stacks of memory, and no regulators"),
	differential.Because(every, amd, ".* TemperatureDetail.*", differential.Missing, "single sensors are printed since 7.0, and regulators are not"),
	differential.Because("mi300x-(spx|cpx)", every, ".* XCCUtilization.*", differential.Missing, "printed since 6.3, by amd-smi"),
	differential.Because(every, rocm, ".* process .*EvictedTime", differential.Missing, "rocm-smi does not print it"),
	differential.Because("apu", rocm, ".* process .*Memory", differential.Differs, "rocm-smi prints what KFD counts, the machine's memory with that of the GPU"),
	differential.Because(every, rocm, ".* (Interconnect.*|Utilization.*)", differential.Missing, "not printed: XGMI, JPEG, and partitions"),

	// Values that amd-smi gets from the DRM device, which the simulation does not have.
	differential.Because(every, amd, ".* (Info.(PCIAddress|DriverVersion|ComputeCapability|Architecture|BoardPartNumber)|Model)", differential.Missing, "from the DRM device"),
	differential.Because(every, amd, ".* (Power.Draw|Power.Instant|Voltage.*)", differential.Missing, "from the DRM device"),
	differential.Because(every, amd, ".* PCIe.(Generation|Width|Replays)", differential.Missing, "from the DRM device"),
	differential.Because(every, amd, ".* (Errors|Interconnect).*", differential.Missing, "from the DRM device"),
	differential.Because(every, amd, ".* process .*", differential.Missing, "needs the DRM device"),
	differential.Because(every, amd, ".* ProcessesUnread", differential.More, "needs the DRM device"),

	// Values that the tools print differently.
	differential.Because(every, every, ".* Energy", ratio(15.3e-6*65536), "the tools count 15.3 µJ for a unit that is 2^-16 J, 15.259 µJ"),
	differential.Because(every, amd, ".* Memory.*", differential.Near(1<<20), "amd-smi prints whole MiB"),
	differential.Because(every, rocm, ".* Clocks.graphics..Speed", differential.Differs, "rocm-smi prints the level that is set, the driver's files the clock as it runs"),
	differential.Because("radeon|apu", rocm, ".* Info.DriverVersion", differential.Differs, "without a version of the driver's own, rocm-smi takes the kernel's from uname, which is not simulated"),

	// Processes.
	differential.Because(every, rocm, ".* process .*Utilization.*", differential.Missing, "rocm-smi prints a number of compute units, of all the GPUs of a process"),
	differential.Because("mi250", rocm, ".* process .*(Memory|SDMATime)", differential.Missing, "rocm-smi prints the sum over the GPUs of a process"),
	differential.Because("radeon|apu", rocm, ".* process .*", differential.Missing, "rocm-smi knows processes of the compute driver only"),
}
