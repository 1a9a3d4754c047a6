// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/rocmsmi"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/histories"
)

// The same machine, read by its tools.
func TestAMDTools(t *testing.T) {
	play(t, func(t *testing.T, h *histories.History) *node {
		tool := []command.Tool{command.AMDSMI, command.ROCmSMI}[h.Seed%2]
		return newAMDNode(t, h, tool, func(n *amdNode, want gpu.Group) gpu.Source {
			if tool == command.ROCmSMI {
				return rocmsmi.New(new(rocmsmi.Config), n, want, rocmsmi.WithClock(n.now))
			}
			return amdsmi.New(new(amdsmi.Config), n, want, amdsmi.WithClock(n.now))
		})
	})
}

// Run implements command.Runner: it is the tool.
func (n *amdNode) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	var results []command.Result
	for _, c := range commands {
		switch n.trouble {
		case "absent":
			return results, command.ErrNotFound
		case "hangs":
			if c.Args[0] != "static" && n.rng.IntN(3) == 0 { // a GPU that is back has no name without it
				return results, command.ErrTimeout
			}
		}
		listed := n.listed()
		if n.unloaded || len(listed) == 0 {
			results = append(results, command.Result{ExitCode: 255, Stderr: []byte("ERROR:root:Driver not initialized (amdgpu not found in modules)\n")})
			continue
		}
		text := n.amd(c.Args, listed)
		if n.tool == command.ROCmSMI {
			text = n.rocm(c.Args, listed)
		}
		if n.trouble == "cut" && c.Args[0] != "list" && len(listed) > 3 && n.rng.IntN(2) == 0 {
			text = text[:len(text)/2+n.rng.IntN(len(text)/2)]
		}
		results = append(results, command.Result{Stdout: []byte(text)})
	}
	return results, nil
}

// amdListed is a device in the tool's list: a GPU, or a partition of one.
type amdListed struct {
	*amdGPU
	partition int
}

func (n *amdNode) listed() []amdListed {
	var all []amdListed
	for _, c := range n.cards {
		for i := range c.Partitions {
			if c.fate == "" {
				all = append(all, amdListed{c, i})
			}
		}
	}
	return all
}

func (l *amdListed) bdf() string { return l.Address[:len(l.Address)-1] + strconv.Itoa(l.partition) }

// value returns a value as the tools print it. It is N/A if its file has a fault, or if it is a value of the GPU and this is not the first
// partition.
func (l *amdListed) value(file, format string, v any) string {
	if l.faults[file] != "" || l.partition > 0 && file != "" || v == amdgpusim.None {
		return "N/A"
	}
	if l.Status != "active" && (strings.HasPrefix(file, "gpu_") || strings.HasPrefix(file, "hwmon")) {
		return "N/A"
	}
	return fmt.Sprintf(format, v)
}

// per is a reading in another unit.
func per(v int64, unit float64) any {
	if v == amdgpusim.None {
		return amdgpusim.None
	}
	return float64(v) / unit
}

// units returns the firmware's count in the unit that the tools assume. Its size shows whether the counter has few bits or many; an APU has
// no counter.
func (l *amdListed) units(each float64) any {
	switch {
	case l.turn > 0:
		return float64(uint64(l.shown*l.perJoule())) * each
	case l.XCCs > 0:
		return float64(uint64((1e6+l.shown)*l.perJoule())) * each
	}
	return amdgpusim.None
}

func (l *amdListed) unique() string {
	if l.UniqueID == 0 {
		return "N/A"
	}
	return l.value("unique_id", "0x%x", l.UniqueID)
}

func (l *amdListed) memory() (total, used int64) {
	if p := &l.Partitions[l.partition]; l.partition > 0 {
		return p.Memory, p.Used
	}
	return l.Readings.VRAM, l.Readings.VRAMUsed
}

// rocm prints the output of rocm-smi.
func (n *amdNode) rocm(args []string, listed []amdListed) string {
	if args[0] != "--json" {
		return n.rocmText(listed)
	}
	cards := map[string]map[string]string{}
	for i, l := range listed {
		power := "Average Graphics Package Power (W)"
		if l.Readings.Average == amdgpusim.None {
			power = "Current Socket Graphics Package Power (W)"
		}
		total, used := l.memory()
		cards[fmt.Sprint("card", i)] = map[string]string{
			"Unique ID": l.unique(), "PCI Bus": strings.ToUpper(l.bdf()), "Node ID": strconv.Itoa(1 + i),
			"Serial Number": l.value("own", "%s", l.Serial), "Card Series": l.value("own", "%s", l.Product),
			"Compute Partition": l.value("own", "%s", l.Compute), power: l.value(l.powerFile(), "%.1f", l.watts()),
			"GPU use (%)":                       l.value("gpu_busy_percent", "%d", l.Readings.Busy),
			"Temperature (Sensor junction) (C)": l.value("hwmon/hwmon14/temp2_input", "%.1f", per(int64(l.Readings.Junction), 1000)),
			"Max Graphics Package Power (W)":    l.value("hwmon", "%.1f", per(l.Readings.Cap, 1e6)),
			"Accumulated Energy (uJ)":           l.value("gpu_metrics", "%.2f", l.units(15.259)),
			"PCIe Replay Count":                 l.value("pcie_replay_count", "%d", l.Readings.Replays),
			"VRAM Total Memory (B)":             strconv.FormatInt(total, 10),
			"VRAM Total Used Memory (B)":        strconv.FormatInt(used, 10),
		}
	}
	text, _ := json.Marshal(cards)
	return string(text)
}

func (n *amdNode) rocmText(listed []amdListed) string {
	var b strings.Builder
	b.WriteString("=========== ROCm System Management Interface ===========\n===== KFD Processes =====\nKFD process information:\n")
	b.WriteString("PID  \tPROCESS NAME\tGPU(s)\tVRAM USED\tSDMA USED\tCU OCCUPANCY\n")
	for _, u := range n.processes {
		fmt.Fprintf(&b, "%d\t%s\t1\t%d\t0\t8\t\n", u.pid, u.name(), u.memory)
	}
	b.WriteString("=====\n===== GPUs Indexed by PID =====\n")
	for _, u := range n.processes {
		for i, l := range listed {
			if l.amdGPU == u.card && l.partition == u.partition {
				fmt.Fprintf(&b, "PID %d is using 1 DRM device(s):\n%d \n", u.pid, i)
			}
		}
	}
	b.WriteString("=====\n===== RAS Info =====\n")
	for i, l := range listed {
		fmt.Fprintf(&b, "GPU[%d]: \tRAS INFO\n", i)
		if l.RAS != nil && l.partition == 0 && l.faults["ras/umc_err_count"] == "" {
			fmt.Fprintf(&b, "  UMC  ENABLED  %d  0\n", l.errors)
		}
	}
	b.WriteString("=====\n============ End of ROCm SMI Log ============\n")
	return b.String()
}

func (l *amdListed) powerFile() string {
	if l.Readings.Average == amdgpusim.None {
		return "hwmon/hwmon3/power1_input"
	}
	return "hwmon/hwmon14/power1_average"
}

// amd prints the output of amd-smi.
func (n *amdNode) amd(args []string, listed []amdListed) string {
	records := []any{}
	for i, l := range listed {
		total, used := l.memory()
		quantity := func(v, unit string) any {
			if v == "N/A" {
				return v
			}
			return map[string]any{"value": json.Number(v), "unit": unit}
		}
		r := map[string]any{"gpu": i}
		switch strings.Join(args[:min(2, len(args))], " ") {
		case "version --json":
			r = map[string]any{"version": "27.0.0", "amdsmi_library_version": "27.0.0"}
		case "list -e":
			r["bdf"], r["uuid"], r["node_id"], r["partition_id"] = l.bdf(), "N/A", 1+i, l.partition
			r["hip_uuid"] = "GPU-" + strings.TrimPrefix(l.unique(), "0x")
			r["card"] = fmt.Sprint("card", l.number())
		case "static --json":
			r["asic"] = map[string]any{"market_name": l.value("own", "%s", l.Product), "asic_serial": l.unique()}
			r["board"] = map[string]any{"product_serial": l.value("own", "%s", l.Serial)}
			r["bus"] = map[string]any{"bdf": l.bdf()}
			r["partition"] = map[string]any{"accelerator_partition": l.value("own", "%s", l.Compute), "partition_id": l.partition}
			r["limit"] = map[string]any{"ppt0": map[string]any{"socket_power_limit": quantity(l.value("hwmon", "%.0f", per(l.Readings.Cap, 1e6)), "W")}}
		case "metric -P":
			r["pcie"] = map[string]any{"replay_count": quantity(l.value("pcie_replay_count", "%d", l.Readings.Replays), "")}
		case "process --json":
			processes := []any{}
			for _, u := range n.processes {
				if l.amdGPU == u.card && l.partition == u.partition {
					processes = append(processes, map[string]any{"process_info": map[string]any{
						"pid": u.pid, "name": u.name(), "memory_usage": map[string]any{"vram_mem": quantity(strconv.FormatInt(u.memory, 10), "B")},
					}})
				}
			}
			r["process_list"] = processes
		case "xgmi -m":
		default:
			r["usage"] = map[string]any{"gfx_activity": quantity(l.value("gpu_busy_percent", "%d", l.Readings.Busy), "%")}
			r["power"] = map[string]any{"socket_power": quantity(l.value(l.powerFile(), "%.0f", l.watts()), "W")}
			r["temperature"] = map[string]any{"hotspot": quantity(l.value("hwmon/hwmon14/temp2_input", "%.0f", per(int64(l.Readings.Junction), 1000)), "C")}
			r["energy"] = map[string]any{"total_energy_consumption": quantity(l.value("gpu_metrics", "%.3f", l.units(15.259e-6)), "J")}
			r["mem_usage"] = map[string]any{
				"total_vram": quantity(strconv.FormatInt(total>>20, 10), "MB"), "used_vram": quantity(strconv.FormatInt(used>>20, 10), "MB"),
			}
			if l.RAS != nil {
				r["ecc_blocks"] = map[string]any{"UMC": map[string]any{"correctable_count": quantity(l.value("ras/umc_err_count", "%d", l.errors), "")}}
			}
		}
		records = append(records, r)
	}
	text, _ := json.MarshalIndent(records, "", "    ")
	return string(text)
}

func (l *amdListed) number() int {
	if p := &l.Partitions[l.partition]; p.XCP != "" {
		return p.Number
	}
	return l.Number
}
