// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	maxBlocks  = 64
	maxSensors = 32
)

// files are the names of those files of a GPU that there are; empty: there is none of the kind.
type files struct {
	busy, memoryBusy              string
	memoryTotal, memoryUsed       string
	visibleTotal, visibleUsed     string
	mappableTotal, mappableUsed   string
	graphics, memory, video       string // clock tables
	replays, metrics, compute     string
	temperature                   [gpu.NumSensors]string
	degraded, critical            [gpu.NumSensors]string
	average, instant, limit, most string // power
	energy                        string
	frequency                     [gpu.NumClockDomains]string
	duty, dutyMax, fan, fanMax    string
	blocks                        []block
}

// block is the error counts of one IP block.
type block struct{ name, file string }

// list finds out which files the GPU has. It opens none that asks the GPU for anything.
func (b *board) list() files {
	var f files
	plain := map[string]*string{
		"gpu_busy_percent": &f.busy, "mem_busy_percent": &f.memoryBusy,
		"mem_info_vram_total": &f.memoryTotal, "mem_info_vram_used": &f.memoryUsed,
		"mem_info_vis_vram_total": &f.visibleTotal, "mem_info_vis_vram_used": &f.visibleUsed,
		"mem_info_gtt_total": &f.mappableTotal, "mem_info_gtt_used": &f.mappableUsed,
		"pp_dpm_sclk": &f.graphics, "pp_dpm_mclk": &f.memory, "pp_dpm_vclk": &f.video,
		"pcie_replay_count": &f.replays, "gpu_metrics": &f.metrics, "current_compute_partition": &f.compute,
	}
	list := make([]byte, listSize)
	for name := range b.dir.names(list) {
		if to := plain[string(name)]; to != nil {
			*to = string(name)
		}
	}
	if ras, err := b.dir.openBelow("ras"); err != nil {
		b.note(err)
	} else {
		for name := range ras.names(list) {
			if b, ok := newBlock(string(name)); ok && len(f.blocks) < maxBlocks {
				f.blocks = append(f.blocks, b)
			}
		}
		ras.close()
		slices.SortFunc(f.blocks, func(a, b block) int { return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.file, b.file)) })
		f.blocks = slices.CompactFunc(f.blocks, func(a, b block) bool { return a.name == b.name })
	}
	b.listSensors(&f, list)
	return f
}

// newBlock tells umc_err_count, and aca_umc, which later drivers have in its place for MI300 and its successors.
func newBlock(file string) (block, bool) {
	name, ok := strings.CutSuffix(file, "_err_count")
	if !ok {
		name, ok = strings.CutPrefix(file, "aca_")
	}
	return block{name: strings.ToLower(name), file: "ras/" + file}, ok
}

// listSensors finds the sensors (hwmon). A sensor is known by its label.
func (b *board) listSensors(f *files, list []byte) {
	hwmon := b.findSensors(list)
	if hwmon == "" {
		return
	}
	d, err := b.dir.openBelow(hwmon)
	if err != nil {
		b.note(err)
		return
	}
	defer d.close()
	has := map[string]bool{}
	for name := range d.names(list) {
		has[string(name)] = true
	}
	file := func(name string) string {
		if !has[name] {
			return ""
		}
		return filepath.Join(hwmon, name)
	}
	for i := range maxSensors {
		number := string(appendUint(nil, uint64(i+1)))
		f.listTemperature(file, "temp"+number, b.labelOf(d, "temp"+number+"_label", i))
		f.listFrequency(file, "freq"+number, b.labelOf(d, "freq"+number+"_label", -1))
	}
	f.average, f.instant = file("power1_average"), file("power1_input")
	f.limit, f.most = file("power1_cap"), file("power1_cap_max")
	f.energy = file("energy1_input")
	f.duty, f.dutyMax = file("pwm1"), file("pwm1_max")
	f.fan, f.fanMax = file("fan1_input"), file("fan1_max")
}

// findSensors returns the directory of the GPU's sensors, such as hwmon/hwmon3.
func (b *board) findSensors(list []byte) string {
	d, err := b.dir.openBelow("hwmon")
	if err != nil {
		b.note(err)
		return ""
	}
	defer d.close()
	for name := range d.names(list) {
		if strings.HasPrefix(string(name), "hwmon") {
			return "hwmon/" + string(name)
		}
	}
	return ""
}

// labelOf reads the label of a sensor. Before labels were introduced there was one temperature, that of the edge.
func (b *board) labelOf(d *dir, name string, i int) string {
	text, err := d.read(name, b.buf)
	if err != nil {
		b.note(err)
		if i == 0 {
			return "edge"
		}
		return ""
	}
	return label(text)
}

func (f *files) listTemperature(file func(string) string, name, label string) {
	var sensor gpu.Sensor
	switch label {
	case "edge":
		sensor = gpu.SensorEdge
	case "junction":
		sensor = gpu.SensorHotspot
	case "mem":
		sensor = gpu.SensorMemory
	default:
		return
	}
	f.temperature[sensor] = file(name + "_input")
	f.degraded[sensor] = file(name + "_crit")
	f.critical[sensor] = file(name + "_emergency")
}

func (f *files) listFrequency(file func(string) string, name, label string) {
	switch label {
	case "sclk":
		f.frequency[gpu.ClockGraphics] = file(name + "_input")
	case "mclk":
		f.frequency[gpu.ClockMemory] = file(name + "_input")
	}
}

func appendUint(to []byte, n uint64) []byte {
	if n >= 10 {
		to = appendUint(to, n/10)
	}
	return append(to, byte('0'+n%10))
}
