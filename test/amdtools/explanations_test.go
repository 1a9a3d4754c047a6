// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdtools

import "math"

// refusals are the machines on which a tool does not start.
var refusals = map[string]string{
	"mi300x-1.5 rocm-smi 5.2.3": noVoltage,
	"mi300x-spx rocm-smi 5.2.3": noVoltage,
	"mi300x-cpx rocm-smi 5.2.3": noVoltage,
}

const noVoltage = "it cannot do without a sensor of the core voltage, and MI300 came after it"

// explanation is why values of a tool are not those of the driver's files. The patterns must match the whole.
type explanation struct {
	machines, tools, values string
	covers                  func(ours, theirs any) bool
	why                     string
}

// missing: the tool does not have the value.
func missing(ours, theirs any) bool { return ours != nil && theirs == nil }

// more: only the tool has the value.
func more(ours, theirs any) bool { return ours == nil && theirs != nil }

// differs: both have it.
func differs(ours, theirs any) bool { return ours != nil && theirs != nil }

// missingOrNone: the tool has nothing at all.
func missingOrNone(_, theirs any) bool { return theirs == nil || theirs == 0.0 }

// near: both have it, no further apart than that.
func near(most float64) func(ours, theirs any) bool {
	return func(ours, theirs any) bool {
		a, ok := ours.(float64)
		b, also := theirs.(float64)
		return ok && also && math.Abs(a-b) <= most
	}
}

// ratio: the tool's is that many times ours.
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

var explanations = []explanation{
	// What the tools do not tell.
	{every, every, ".* Name", differs, "the tools number the GPUs; the driver's files name them"},
	{every, every, ".* Aliases.*", missing, "the tools do not name DRM nodes"},
	{every, every, "node Presence.2.", missing, "the tools look at the driver's GPUs only"},
	{every, every, ".* PCIe.(Generation|Width)Limit", missing, "the tools print the link as it is; amd-smi its limits with the DRM device"},
	{every, rocm, ".* Errors umc deferred", missing, "printed by neither version"},
	{every, rocm, ".* Clocks.video..Speed", missing, "printed by neither version"},
	{"mi250", rocm12, ".* Errors .*(corrected)", missing, "it aborts where the driver counts deferred errors"},
	{"apu", rocm12, ".* Power.(Draw|Instant)", missing, "before 6.0 it knew average power only"},
	{"mi100", rocm, ".* Model", missing, "it has no table of names to look the board up in"},
	{"mi300x-(spx|cpx)", rocm, ".* Energy", missing, "from the table, of a revision that came after it"},
	{"mi300x-(spx|cpx)", amd, ".* (Energy|Utilization.*|MemoryController|Clocks.*Speed)", missing, "from the table, of a revision that came after it"},
	{"mi300x-cpx", every, ".*/[0-9] Memory.*", missing, "of a partition these versions print the GPU's"},
	{"mi300x-cpx", rocm, ".*/0 Aliases.0.", differs, "the tools do not name DRM nodes, the PCI address apart"},
	{"apu", amd, ".*", missingOrNone, "without a unique_id, amd-smi needs the DRM device to tell which GPU it prints"},
	{every, every, ".* Throttle.*Active", missing, "before ROCm 6.3 the tools tell no reasons"},
	{every, every, ".* Clocks.*Limit", missing, "rocm-smi prints no limits; amd-smi asks the DRM device for them"},
	{every, rocm, ".* TemperatureLimit.*", missing, "rocm-smi prints no limits"},
	{every, rocm12, ".* Info.ComputeCapability", missing, "printed since 6.1"},
	{every, rocm, ".* (Interconnect.*|Utilization.*)", missing, "not printed: XGMI, JPEG, and partitions"},

	// What amd-smi has from the DRM device, of which the simulation has none.
	{every, amd, ".* (Info.PCIAddress|Info.DriverVersion|Info.ComputeCapability|Model)", missing, "from the DRM device"},
	{every, amd, ".* (Power.Draw|Power.Instant)", missing, "from the DRM device"},
	{every, amd, ".* PCIe.(Generation|Width)", missing, "from the DRM device"},
	{every, amd, ".* (Errors|Interconnect).*", missing, "from the DRM device"},
	{every, amd, ".* process .*", missing, "needs the DRM device"},
	{every, amd, ".* ProcessesUnread", more, "needs the DRM device"},

	// What the tools print otherwise.
	{every, every, ".* Energy", ratio(15.3e-6 * 65536), "the tools count 15.3 µJ for a unit that is 2^-16 J, 15.259 µJ"},
	{every, amd, ".* Memory.*", near(1 << 20), "amd-smi prints whole MiB"},
	{every, rocm, ".* Clocks.graphics..Speed", differs, "rocm-smi prints the level that is set, the driver's files the clock as it runs"},
	{"radeon|apu", rocm, ".* Info.DriverVersion", differs, "without a version of the driver's own, rocm-smi takes the kernel's from uname, which is not simulated"},

	// Processes.
	{every, rocm, ".* process .*Utilization.*", missing, "rocm-smi prints a number of compute units, of all the GPUs of a process"},
	{"mi250", rocm, ".* process .*Memory", missing, "rocm-smi prints the sum over the GPUs of a process"},
	{"radeon|apu", rocm, ".* process .*", missing, "rocm-smi knows processes of the compute driver only"},
}
