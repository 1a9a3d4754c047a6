// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiatool

import "github.com/otelgpu/gpureceiver/test/differential"

const (
	every = ".*"
	full  = "full"
	fast  = "fast"
)

var explanations = []differential.Explanation{
	// Values that the tool does not print in any query.
	differential.Because(every, every, ".* (Interconnect.*|Info.InterconnectVersion)", differential.Missing, "nvidia-smi nvlink is not read"),
	differential.Because(every, every, ".* PCIe.(Transmitted|Received)", differential.Missing, "it prints a rate of 20 ms, no count of bytes"),
	differential.Because(every, every, ".* Energy", differential.Missing, "it does not print it"),
	differential.Because(every, every, ".* (Throttle.*.Time|ECC.SRAMThresholdExceeded|ECC.Locations.*|Info.(FabricClique|C2CMode)|Fabric.Conditions.*)", differential.Missing,
		"printed since 550 to 570"),
	differential.Because(every, every, ".* RecoveryAction", differential.Missing, "printed since 565"),
	differential.Because(every, every, ".* (PCIe.NAKs.*|PCIe.Recoveries|Fans.*.Speed|Info.NVMLVersion)", differential.Missing, "it does not print it"),
	differential.Because(every, full, ".* Info.Architecture", differential.Missing, "this version does not know Blackwell"),
	differential.Because(every, every, ".* Power.Memory", differential.Missing, "printed since 545"),
	differential.Because(every, every, ".* Modes.5..*", differential.Missing, "it prints the version of the GSP's firmware, and nothing while the GSP is not used"),
	differential.Because(every, every, ".* process .*(Utilization.*|MemoryController)", differential.Missing, "pmon has them from functions of the library that are in no header"),
	differential.Because(every, every, ".* TemperatureMargin.*", differential.Missing, "this version has it from functions of the library that are in no header"),
	differential.Because("geforce", every, ".* Fans.1..*", differential.Missing, "it prints one fan"),
	differential.Because("blackwell", every, ".* Faults.*", differential.Missing, "the action that the driver asks for is printed since 565"),

	// Values that it prints differently.
	differential.Because("geforce", every, ".* Utilization.general.", differential.Differs, "the mean of the driver's samples; it prints the last"),

	// Values that only one of its queries has.
	differential.Because(every, full, ".* Power.Instant", differential.Missing, "by -q -x since 545"),
	differential.Because("mig", fast, "GPU-.* Power.Instant", differential.Missing, "by -q -x since 545; a node with MIG is read by that"),
	differential.Because(every, fast, ".* (Clocks.video..Limit|TemperatureLimit.*|Power.Module)", differential.Missing, "not by --query-gpu"),
	differential.Because(every, fast, ".* (PCIe.Replay.*|MemoryBanks.*|Memory.BAR1.*)", differential.Missing, "not by --query-gpu of 535"),
	differential.Because(every, fast, ".* (FrameBuffer.*|Info.(Architecture|Brand|BoardPartNumber|CUDAVersion)|Modes.4..*)", differential.Missing, "not by --query-gpu"),

	// Values of a GPU with MIG.
	differential.Because(every, every, "GPU-.* MemoryBanks.*", differential.Missing, "remapped_rows is N/A while MIG is enabled"),

	// Names of processes that do not exist: the tool gets them from the library, we from /proc.
	differential.Because(every, every, ".* process .*(Executable|Command)", differential.More, "from the library; the nvml scraper asks /proc, where they are not"),
}
