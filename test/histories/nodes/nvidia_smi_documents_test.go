// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (p *smiOutput) table(order, there []int, names []string) {
	for _, name := range names {
		if !slices.Contains(smiColumns, name) && name != "compute_cap" {
			p.fail(2, fmt.Sprintf("Field %q is not a valid field to query.", name))
			return
		}
	}
	p.line("%s", strings.Join(names, ", "))
	for _, index := range there {
		values := p.f.columns(index, order[index])
		var row []string
		for _, name := range names {
			value := values[name]
			if strings.ContainsAny(value, " /") && strings.ContainsAny(value[:1], "NGUTI") && name != "name" {
				value = "[" + value + "]"
			}
			row = append(row, value)
		}
		p.line("%s", strings.Join(row, ", "))
	}
}

func (p *smiOutput) xml(order, there []int) {
	p.line("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<driver_version>580.%d</driver_version>\n<attached_gpus>%d</attached_gpus>", p.f.gpus.driver, len(order))
	for _, index := range there {
		n := order[index]
		v := p.f.columns(index, n)
		p.line("<gpu id=%q>\n<product_name>%s</product_name>\n<mig_mode><current_mig>%s</current_mig></mig_mode>\n<mig_devices>",
			v["pci.bus_id"], v["name"], v["mig.mode.current"])
		number := 0
		for j := range migInstances {
			if n == 0 && v["mig.mode.current"] == "Enabled" && !p.f.gpus.removed[j] {
				_, gi, ci := migInstance(j)
				p.line("<mig_device><index>%d</index><gpu_instance_id>%d</gpu_instance_id><compute_instance_id>%d</compute_instance_id>"+
					"<fb_memory_usage><total>19968 MiB</total><used>20 MiB</used></fb_memory_usage></mig_device>", number, gi, ci)
				number++
			}
		}
		p.line("</mig_devices>\n<uuid>%s</uuid>\n<minor_number>%s</minor_number>\n<pci><pci_bus_id>%s</pci_bus_id></pci>", v["uuid"], v["minor"], v["pci.bus_id"])
		p.line("<clocks_event_reasons_counters><clocks_event_reasons_counters_sw_power_cap>%s</clocks_event_reasons_counters_sw_power_cap></clocks_event_reasons_counters>",
			v["clocks_event_reasons_counters.sw_power_cap"])
		p.line("<fb_memory_usage><total>%s</total><used>%s</used></fb_memory_usage>\n<utilization><gpu_util>%s</gpu_util></utilization>",
			v["memory.total"], v["memory.used"], v["utilization.gpu"])
		p.line("<temperature><gpu_temp>%s C</gpu_temp></temperature>\n<gpu_power_readings><average_power_draw>%s</average_power_draw></gpu_power_readings>\n<processes>",
			v["temperature.gpu"], v["power.draw"])
		if said := p.f.value(n, "nvmlDeviceGetComputeRunningProcesses", ""); said != "" {
			p.line("%s", said)
		} else {
			for _, o := range p.processes(n) {
				gi, ci := "N/A", "N/A"
				if o.place.mig >= 0 {
					_, g, c := migInstance(o.place.mig)
					gi, ci = strconv.Itoa(g), strconv.Itoa(c)
				}
				p.line("<process_info><gpu_instance_id>%s</gpu_instance_id><compute_instance_id>%s</compute_instance_id><pid>%d</pid><type>%s</type>"+
					"<process_name>/usr/bin/python3</process_name><used_memory>%d MiB</used_memory></process_info>", gi, ci, o.pid, o.letters(), o.memory)
			}
		}
		p.line("</processes>\n</gpu>")
	}
	p.line("</nvidia_smi_log>")
}

// migInstance parses one of migInstances.
func migInstance(j int) (profile string, gi, ci int) {
	_, _ = fmt.Sscanf(migInstances[j], "profile = %s\ngi = %d\nci = %d", &profile, &gi, &ci)
	return profile, gi, ci
}

func (o *gpuProcess) letters() string {
	return map[string]string{"compute": "C", "graphics": "G", "mps": "M+C"}[o.kind]
}

func (p *smiOutput) processes(number int) (result []*gpuProcess) {
	for _, o := range p.f.cluster.processes {
		if o.place.gpu == number {
			result = append(result, o)
		}
	}
	return result
}

func (p *smiOutput) list(order, there []int) {
	for _, index := range there {
		v := p.f.columns(index, order[index])
		p.line("GPU %d: %s (UUID: %s)", index, v["name"], v["uuid"])
		number := 0
		for j := range migInstances {
			if order[index] == 0 && v["mig.mode.current"] == "Enabled" && !p.f.gpus.removed[j] {
				profile, _, _ := migInstance(j)
				p.line("  MIG %s     Device  %d: (UUID: %s)", profile, number, p.f.gpus.instance(j))
				number++
			}
		}
	}
}

func (p *smiOutput) pmon(order, there []int) {
	if slices.ContainsFunc(there, func(index int) bool { return p.f.value(order[index], "", "") != "" }) {
		p.fail(255, "Not supported on the device(s)\nFailed to process command line")
		return
	}
	p.line("# gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    command\n" +
		"# Idx           #    C/G      %%      %%      %%      %%      %%      %%     MB     MB    name")
	for _, index := range there {
		running := p.processes(order[index])
		if len(running) == 0 {
			p.line("%5d          -      -      -      -      -      -      -      -      -      -    -", index)
		}
		for _, o := range running {
			sm := strconv.Itoa(o.sm)
			if o.place.mig >= 0 {
				sm = "-"
			}
			p.line("%5d %10d %6s %6s      -      -      -      -      - %6d      0    python3", index, o.pid, o.letters(), sm, o.memory)
		}
	}
}

func (p *smiOutput) apps(order, there []int) {
	p.line("pid, gpu_uuid, used_gpu_memory [MiB], process_name")
	for _, index := range there {
		uuid := p.f.columns(index, order[index])["uuid"]
		for _, o := range p.processes(order[index]) {
			if o.kind != "graphics" && strings.HasPrefix(uuid, "GPU-") {
				p.line("%d, %s, %d MiB, /usr/bin/python3", o.pid, uuid, o.memory)
			}
		}
	}
}
