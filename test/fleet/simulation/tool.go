// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// driverVersion is the driver's on all nodes.
const driverVersion = "570.133.20"

// Machine is a node with GPUs, as shown by nvidia-smi. Its values depend only on its number and the time.
type Machine struct {
	Number int
	GPUs   int
}

// pid is the process on a GPU. One process runs on each.
func (m *Machine) pid(g int) int64 { return int64(20000 + m.Number%1000 + 16*g) }

func (m *Machine) uuid(g int) string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", m.Number, g)
}

func (*Machine) bus(g int) string { return fmt.Sprintf("00000000:%02X:00.0", 0x0a+0x10*g) }

// wave is a value that changes with time between two bounds, differently on each GPU.
func (m *Machine) wave(g int, now time.Time, low, high float64) float64 {
	phase := float64(m.Number*31 + g*7)
	return low + (high-low)*(0.5+0.5*math.Sin(float64(now.Unix())/37+phase))
}

// column is a field of --query-gpu: its unit in the heading, and its value.
type column struct {
	name, unit string
	value      func(m *Machine, g int, now time.Time) string
}

func fixed(value string) func(*Machine, int, time.Time) string {
	return func(*Machine, int, time.Time) string { return value }
}

// between is a value that changes, with a unit.
func between(low, high float64, decimals int, unit string) func(*Machine, int, time.Time) string {
	return func(m *Machine, g int, now time.Time) string {
		value := strconv.FormatFloat(m.wave(g, now, low, high), 'f', decimals, 64)
		if unit == "" {
			return value
		}
		return value + " " + unit
	}
}

// growing is a counter.
func growing(perSecond int64) func(*Machine, int, time.Time) string {
	return func(_ *Machine, g int, now time.Time) string {
		return strconv.FormatInt((now.Unix()%1_000_000)*perSecond+int64(g), 10) + " us"
	}
}

// columns are the tool's fields, in the order of its help. The names and the format of the values are taken from nvidia-smi for an H100 of
// driver 570.
func columns() []column {
	all := []column{
		{"driver_version", "", fixed(driverVersion)},
		{"count", "", func(m *Machine, _ int, _ time.Time) string { return strconv.Itoa(m.GPUs) }},
		{"name", "", fixed("NVIDIA H100 80GB HBM3")},
		{"serial", "", func(m *Machine, g int, _ time.Time) string { return strconv.Itoa(1650000000 + m.Number*16 + g) }},
		{"uuid", "", func(m *Machine, g int, _ time.Time) string { return m.uuid(g) }},
		{"pci.bus_id", "", func(m *Machine, g int, _ time.Time) string { return m.bus(g) }},
		{"index", "", func(_ *Machine, g int, _ time.Time) string { return strconv.Itoa(g) }},
		{"compute_cap", "", fixed("9.0")},
		{"vbios_version", "", fixed("96.00.A5.00.01")},
		{"mig.mode.current", "", fixed("Disabled")},
		{"fan.speed", " [%]", fixed("[N/A]")},
		{"pstate", "", fixed("P0")},
		{"pcie.link.gen.current", "", fixed("5")},
		{"pcie.link.gen.max", "", fixed("5")},
		{"pcie.link.width.current", "", fixed("16")},
		{"pcie.link.width.max", "", fixed("16")},
		{"memory.total", " [MiB]", fixed("81559 MiB")},
		{"memory.reserved", " [MiB]", fixed("551 MiB")},
		{"memory.used", " [MiB]", between(20000, 79000, 0, "MiB")},
		{"protected_memory.total", " [MiB]", fixed("0 MiB")},
		{"protected_memory.used", " [MiB]", fixed("0 MiB")},
		{"utilization.gpu", " [%]", between(0, 100, 0, "%")},
		{"utilization.memory", " [%]", between(0, 60, 0, "%")},
		{"utilization.encoder", " [%]", fixed("0 %")},
		{"utilization.decoder", " [%]", between(0, 20, 0, "%")},
		{"utilization.jpeg", " [%]", fixed("0 %")},
		{"utilization.ofa", " [%]", fixed("0 %")},
		{"temperature.gpu", "", between(35, 78, 0, "")},
		{"temperature.gpu.tlimit", "", between(9, 52, 0, "")},
		{"temperature.memory", "", between(40, 85, 0, "")},
		{"power.draw", " [W]", between(70, 699, 2, "W")},
		{"power.draw.average", " [W]", between(70, 699, 2, "W")},
		{"power.draw.instant", " [W]", between(70, 699, 2, "W")},
		{"power.limit", " [W]", fixed("700.00 W")},
		{"enforced.power.limit", " [W]", fixed("700.00 W")},
		{"module.power.draw.average", " [W]", fixed("[N/A]")},
		{"module.power.draw.instant", " [W]", fixed("[N/A]")},
		{"clocks.current.graphics", " [MHz]", between(345, 1980, 0, "MHz")},
		{"clocks.current.sm", " [MHz]", between(345, 1980, 0, "MHz")},
		{"clocks.current.memory", " [MHz]", fixed("2619 MHz")},
		{"clocks.current.video", " [MHz]", between(765, 1545, 0, "MHz")},
		{"clocks.max.graphics", " [MHz]", fixed("1980 MHz")},
		{"clocks.max.sm", " [MHz]", fixed("1980 MHz")},
		{"clocks.max.memory", " [MHz]", fixed("2619 MHz")},
		{"ecc.errors.corrected.volatile.total", "", fixed("0")},
		{"ecc.errors.uncorrected.volatile.total", "", fixed("0")},
		{"ecc.errors.corrected.aggregate.total", "", fixed("2")},
		{"ecc.errors.uncorrected.aggregate.total", "", fixed("0")},
		{"retired_pages.single_bit_ecc.count", "", fixed("[N/A]")},
		{"retired_pages.double_bit.count", "", fixed("[N/A]")},
		{"retired_pages.pending", "", fixed("[N/A]")},
		{"remapped_rows.correctable", "", fixed("0")},
		{"remapped_rows.uncorrectable", "", fixed("0")},
		{"remapped_rows.pending", "", fixed("No")},
		{"remapped_rows.failure", "", fixed("No")},
		{"gpu_recovery_action", "", fixed("None")},
	}
	for _, reason := range []string{
		"gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
		"sw_thermal_slowdown", "sync_boost",
	} {
		all = append(all, column{"clocks_event_reasons." + reason, "", fixed("Not Active")})
	}
	for _, reason := range []string{"sw_power_cap", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sync_boost"} {
		all = append(all, column{"clocks_event_reasons_counters." + reason, " [us]", growing(3)})
	}
	return all
}

// Tool simulates the calls of nvidia-smi.
type Tool struct {
	columns map[string]column
	help    string
}

// NewTool returns the tool.
func NewTool() *Tool {
	t := &Tool{columns: make(map[string]column)}
	var help strings.Builder
	help.WriteString("List of valid properties to query for the switch \"--query-gpu=\":\n\n")
	for _, c := range columns() {
		t.columns[c.name] = c
		fmt.Fprintf(&help, "%q\nWhat nvidia-smi says of it here, in a line or two, is of no matter for a simulation.\n\n", c.name)
	}
	t.help = help.String()
	return t
}

// Run returns the output of a call and its exit code.
func (t *Tool) Run(m *Machine, args []string, now time.Time) (stdout string, code int) {
	switch {
	case len(args) == 1 && args[0] == "--help-query-gpu":
		return t.help, 0
	case len(args) == 2 && args[1] == "--format=csv" && strings.HasPrefix(args[0], "--query-gpu="):
		return t.table(m, strings.Split(strings.TrimPrefix(args[0], "--query-gpu="), ","), now)
	case len(args) == 2 && args[1] == "--format=csv" && args[0] == "--query-compute-apps=pid,gpu_uuid,used_memory,process_name":
		return m.apps(now), 0
	case strings.Join(args, " ") == "pmon -c 1 -s um":
		return m.pmon(now), 0
	case strings.Join(args, " ") == "-q -x":
		return m.minors(), 0
	}
	return "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", 2
}

func (t *Tool) table(m *Machine, names []string, now time.Time) (string, int) {
	selection := make([]column, len(names))
	var b strings.Builder
	for i, name := range names {
		c, ok := t.columns[name]
		if !ok {
			return fmt.Sprintf("Field %q is not a valid field to query.\n\n", name), 2
		}
		selection[i] = c
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.name + c.unit)
	}
	b.WriteByte('\n')
	for g := range m.GPUs {
		for i := range selection {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(selection[i].value(m, g, now))
		}
		b.WriteByte('\n')
	}
	return b.String(), 0
}

// minors is the part of the XML that the receiver requests: the numbers of the device nodes, and T.Limit at the limits.
func (m *Machine) minors() string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n\t<driver_version>" + driverVersion + "</driver_version>\n")
	for g := range m.GPUs {
		fmt.Fprintf(&b, "\t<gpu id=\"%s\">\n\t\t<uuid>%s</uuid>\n\t\t<minor_number>%d</minor_number>\n\t\t<temperature>\n"+
			"\t\t\t<gpu_temp_max_tlimit_threshold>-8 C</gpu_temp_max_tlimit_threshold>\n"+
			"\t\t\t<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>\n"+
			"\t\t\t<gpu_temp_max_gpu_tlimit_threshold>0 C</gpu_temp_max_gpu_tlimit_threshold>\n\t\t</temperature>\n\t</gpu>\n", m.bus(g), m.uuid(g), g)
	}
	return b.String() + "</nvidia_smi_log>\n"
}

func (m *Machine) apps(now time.Time) string {
	var b strings.Builder
	b.WriteString("pid, gpu_uuid, used_gpu_memory [MiB], process_name\n")
	for g := range m.GPUs {
		fmt.Fprintf(&b, "%d, %s, %.0f MiB, /usr/bin/python3.12\n", m.pid(g), m.uuid(g), m.wave(g, now, 19000, 78000))
	}
	return b.String()
}

func (m *Machine) pmon(now time.Time) string {
	var b strings.Builder
	b.WriteString("# gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    command \n" +
		"# Idx           #    C/G      %      %      %      %      %      %     MB     MB    name \n")
	for g := range m.GPUs {
		fmt.Fprintf(&b, "%5d %11d %6s %6.0f %6.0f      -      -      -      - %6.0f %6d    %s\n", g, m.pid(g), "C", m.wave(g, now, 0, 99),
			m.wave(g, now, 0, 60), m.wave(g, now, 19000, 78000), 0, "python3.12")
	}
	return b.String()
}
