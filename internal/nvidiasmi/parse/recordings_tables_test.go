// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// csvNumbers are the numbers of a --query-gpu table and the values that they become.
func csvNumbers() map[string]quantity {
	q := map[string]quantity{
		"index":                     {units: plain, get: indexOf},
		"fan.speed":                 {units: percents, get: fanOf},
		"pstate":                    {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PerformanceState) }},
		"memory.total":              {units: mebibytes, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.Memory.Limit) }},
		"memory.used":               {units: mebibytes, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.Memory.Usage) }},
		"memory.reserved":           {units: mebibytes, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.Memory.Reserved) }},
		"utilization.gpu":           {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskGeneral] }},
		"utilization.memory":        {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.MemoryController }},
		"utilization.encoder":       {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskEncoder] }},
		"utilization.decoder":       {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskDecoder] }},
		"utilization.jpeg":          {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskJPEG] }},
		"utilization.ofa":           {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskOpticalFlow] }},
		"temperature.gpu":           {units: plain, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Temperature[gpu.SensorGPU] }},
		"temperature.memory":        {units: plain, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Temperature[gpu.SensorMemory] }},
		"temperature.gpu.tlimit":    {units: plain, get: func(g *GPU) gpu.Opt[float64] { return g.TLimit }},
		"power.draw":                {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Draw }},
		"power.draw.average":        {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Draw }},
		"power.draw.instant":        {units: inWatts, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Instant }},
		"module.power.draw.average": {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Module }},
		"enforced.power.limit":      {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitEnforced] }},
		"power.max_limit":           {units: inWatts, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitMax] }},
		"pcie.link.gen.current":     {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.Generation) }},
		"pcie.link.gen.max":         {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.GenerationLimit) }},
		"pcie.link.width.current":   {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.Width) }},
		"pcie.link.width.max":       {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.WidthLimit) }},

		"ecc.errors.corrected.volatile.total":    {units: plain, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorCorrected, false) }},
		"ecc.errors.uncorrected.volatile.total":  {units: plain, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorUncorrected, false) }},
		"ecc.errors.corrected.aggregate.total":   {units: plain, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorCorrected, true) }},
		"ecc.errors.uncorrected.aggregate.total": {units: plain, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorUncorrected, true) }},
		"retired_pages.single_bit_ecc.count":     {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RetiredPages.Corrected) }},
		"retired_pages.double_bit.count":         {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RetiredPages.Uncorrected) }},
		"remapped_rows.correctable":              {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RemappedRows.Corrected) }},
		"power.min_limit":                        {units: inWatts, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitMin] }},
		"power.default_limit":                    {units: inWatts, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitDefault] }},
		"encoder.stats.sessionCount":             {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.Encoder.Count) }},
		"remapped_rows.uncorrectable":            {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RemappedRows.Uncorrected) }},
	}
	for name, domain := range map[string]gpu.ClockDomain{
		"graphics": gpu.ClockGraphics, "sm": gpu.ClockSM, "memory": gpu.ClockMemory, "video": gpu.ClockVideo,
	} {
		q["clocks.current."+name] = quantity{units: megahertz, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Clocks[domain].Speed }}
		if domain != gpu.ClockVideo {
			q["clocks.max."+name] = quantity{units: megahertz, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Clocks[domain].Limit }}
		}
	}
	for name, reason := range map[string]gpu.ThrottleReason{
		"sw_power_cap": gpu.ThrottleSWPowerCap, "sync_boost": gpu.ThrottleSyncBoost, "sw_thermal_slowdown": gpu.ThrottleSWThermal,
		"hw_thermal_slowdown": gpu.ThrottleHWThermal, "hw_power_brake_slowdown": gpu.ThrottleHWPowerBrake,
	} {
		q["clocks_event_reasons_counters."+name] = quantity{
			units: micros, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.Throttle[reason].Time) },
		}
	}
	for name, spares := range map[string]gpu.Spares{
		"max": gpu.SparesMax, "high": gpu.SparesHigh, "partial": gpu.SparesPartial, "low": gpu.SparesLow, "none": gpu.SparesNone,
	} {
		q["remapped_rows.histogram."+name] = quantity{units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.MemoryBanks[spares]) }}
	}
	for name, kind := range map[string]gpu.ErrorType{"corrected": gpu.ErrorCorrected, "uncorrected": gpu.ErrorUncorrected} {
		for memory, m := range map[string]gpu.MemoryType{"sram": gpu.MemorySRAM, "dram": gpu.MemoryDRAM} {
			q["ecc.errors."+name+".volatile."+memory] = quantity{
				units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.ECC.Memory[m][kind]) },
			}
		}
		q["ecc.errors."+name+".aggregate.dram"] = quantity{
			units: plain, get: func(g *GPU) gpu.Opt[float64] { return locationOf(g, gpu.LocationDRAM, kind) },
		}
	}
	return q
}

func indexOf(g *GPU) gpu.Opt[float64] {
	if v, ok := g.Device.Index.Get(); ok {
		return gpu.Some(float64(v))
	}
	return gpu.Opt[float64]{}
}

// checkQueryGPU compares a listing with the cells of its table. No recorded table has a comma in a cell.
func checkQueryGPU(t *testing.T, data []byte) {
	t.Helper()
	log, ok := QueryGPU(data, nil)
	require.True(t, ok)
	assert.True(t, log.Complete)
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")
	names := strings.Split(rows[0], ", ")
	require.Len(t, log.GPUs, len(rows)-1)
	numbers := 0
	for i, row := range rows[1:] {
		g := &log.GPUs[i]
		cells := map[string]string{}
		for j, cell := range strings.Split(strings.TrimRight(row, "\r"), ", ") {
			name, _, _ := strings.Cut(names[j], " [")
			cells[strings.ReplaceAll(name, "clocks_throttle_reasons", "clocks_event_reasons")] = cell
		}
		assert.Equal(t, cells["uuid"], g.Device.ID)
		assert.Equal(t, cells["name"], g.Device.Model)
		assert.Equal(t, cells["driver_version"], g.Device.Info.DriverVersion)
		for name, q := range csvNumbers() {
			printed := cells[name]
			value, unit, isNumber := printedNumber(printed)
			got, exists := q.get(g).Get()
			if !isNumber {
				assert.True(t, q.shared || !exists, "%s is %q and came out as %v", name, printed, got)
				continue
			}
			require.Contains(t, q.units, unit, name)
			assert.True(t, exists, "%s is %q and came out absent", name, printed)
			assert.InDelta(t, value*q.units[unit], got, 1e-9*max(1, value*q.units[unit]), name)
			numbers++
		}
		for name, reason := range map[string]gpu.ThrottleReason{"sw_power_cap": gpu.ThrottleSWPowerCap, "hw_slowdown": gpu.ThrottleHWSlowdown} {
			active, exists := g.Device.Throttle[reason].Active.Get()
			assert.Equal(t, cells["clocks_event_reasons."+name] == "Active", active)
			assert.True(t, exists)
		}
		checkProtected(t, cells["protected_memory.used"], cells["protected_memory.total"], g)
		assert.Empty(t, g.Refusals)
	}
	assert.Greater(t, numbers, 20)
}

func checkApps(t *testing.T, data []byte) {
	t.Helper()
	processes, exists, dropped := ComputeApps(data, nil)
	require.True(t, exists)
	assert.Zero(t, dropped)
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	require.Len(t, processes, len(rows))
	for i, row := range rows {
		cells := strings.Split(row, ", ")
		require.Len(t, cells, 8)
		assert.Equal(t, cells[4], processes[i].UUID)
		pid, err := parseFloat(cells[5])
		require.NoError(t, err)
		assert.Equal(t, int64(pid), processes[i].PID)
		assert.Equal(t, cells[6], processes[i].Name)
		if mib, unit, ok := printedNumber(cells[7]); ok {
			assert.Equal(t, "MiB", unit)
			assert.Equal(t, gpu.Some(int64(mib)<<20), processes[i].Memory)
		} else {
			assert.False(t, processes[i].Memory.Known())
		}
	}
}

var pmonRowShape = regexp.MustCompile(`^ +(\d+) +(\d+|-) +(\S+) +(.*)$`)

// checkPmon compares processes with the cells of their rows, by the position of the column only.
func checkPmon(t *testing.T, data []byte) {
	t.Helper()
	m, err := Pmon(data)
	require.NoError(t, err)
	assert.Zero(t, m.Dropped)
	var columns []string
	next := 0
	for line := range strings.Lines(string(data)) {
		if heading, ok := strings.CutPrefix(line, "# gpu"); ok {
			columns = strings.Fields(heading)[2:]
			continue
		}
		row := pmonRowShape.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if row == nil || row[2] == "-" {
			continue
		}
		require.Less(t, next, len(m.Processes))
		p := m.Processes[next]
		next++
		pid, err := parseFloat(row[2])
		require.NoError(t, err)
		assert.Equal(t, int64(pid), p.PID)
		cells := strings.Fields(row[4])
		for i, c := range columns[:len(columns)-1] {
			value, err := parseFloat(cells[i])
			task, isTask := map[string]gpu.Task{
				"sm": gpu.TaskGeneral, "enc": gpu.TaskEncoder, "dec": gpu.TaskDecoder, "jpg": gpu.TaskJPEG, "ofa": gpu.TaskOpticalFlow,
			}[c]
			switch {
			case isTask && err != nil:
				assert.False(t, p.Utilization[task].Known(), "%s is %q", c, cells[i])
			case isTask:
				assert.Equal(t, gpu.Some(value/100), p.Utilization[task], c)
			case c == "fb":
				require.NoError(t, err)
				assert.Equal(t, gpu.Some(int64(value)<<20), p.Memory)
			}
		}
		name := strings.Join(cells[len(columns)-1:], " ")
		assert.Equal(t, name, p.Name)
	}
	assert.Len(t, m.Processes, next)
}

func TestRecordedCSV(t *testing.T) {
	for _, file := range recordings(t, "nvidia-smi-csv") {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data := load(t, file)
			switch {
			case strings.Contains(name, "query-gpu"), strings.Contains(name, "sample-output"):
				checkQueryGPU(t, data)
			case strings.Contains(name, "compute-apps"):
				checkApps(t, data)
			default: // accounted-apps, retired-pages: never queried
				QueryGPU(data, nil)
				ComputeApps(data, nil)
			}
		})
	}
}

func TestRecordedPmon(t *testing.T) {
	for _, file := range recordings(t, "nvidia-smi-pmon") {
		t.Run(filepath.Base(file), func(t *testing.T) { checkPmon(t, load(t, file)) })
	}
}

// TestRecordedCaptures reads every part of a capture. Each part follows a line with its command.
func TestRecordedCaptures(t *testing.T) {
	command := regexp.MustCompile(`(?m)^# (?:\$ )?nvidia-smi (.*)$`)
	for _, file := range recordings(t, "nvidia-smi-capture") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := load(t, file)
			seen := map[string]bool{}
			matches := command.FindAllSubmatchIndex(data, -1)
			for i, m := range matches {
				end := len(data)
				if i+1 < len(matches) {
					end = matches[i+1][0]
				}
				part := data[m[1]:end]
				if cut := bytes.Index(part, []byte("\n####")); cut == 0 {
					_, part, _ = bytes.Cut(part[1:], []byte("\n"))
				}
				part, _, _ = bytes.Cut(part, []byte("\n####"))
				arguments := strings.Fields(string(data[m[2]:m[3]]))
				kind := "table"
				if len(arguments) > 0 {
					kind, _, _ = strings.Cut(arguments[0], "=")
				}
				seen[kind] = true
				checkPart(t, kind, part)
			}
			assert.True(t, seen["--help-query-gpu"] && seen["--query-gpu"], "%v", seen)
		})
	}
}

func checkPart(t *testing.T, kind string, part []byte) {
	t.Helper()
	switch kind {
	case "--query-gpu":
		checkQueryGPU(t, part)
	case "--query-compute-apps":
		checkApps(t, part)
	case "pmon":
		checkPmon(t, part)
	case "--help-query-gpu":
		names := Help(part)
		assert.Greater(t, len(names), 100)
		for _, f := range Fields() {
			last := f.Names[len(f.Names)-1]
			assert.True(t, !f.Basic || names[last] || names[f.Names[0]], "the basic field %s is not advertised", last)
		}
	case "-L", "--list-gpus":
		listed := DeviceList(part)
		require.Len(t, listed, bytes.Count(part, []byte("GPU "))) // no name holds "GPU "
		instances := 0
		for _, l := range listed {
			instances += len(l.MIGDevices)
			assert.True(t, strings.HasPrefix(l.UUID, "GPU-"))
		}
		assert.Equal(t, bytes.Count(part, []byte("  MIG ")), instances)
	}
}

func TestRecordedErrors(t *testing.T) {
	want := map[string]Failure{
		"driver_not_loaded": FailureDriverNotLoaded, "lib_version_mismatch": FailureDriverMismatch,
		"nvml_unknown_error": FailureInit, "pmon_unsupported_wddm": FailureUnsupported,
	}
	for _, file := range recordings(t, "nvidia-smi-error") {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "unknown__"), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			data := load(t, file)
			d := Diagnose(data, nil, 0)
			if failure, ok := want[name]; ok {
				assert.Equal(t, failure, d.Failure)
				assert.NotEmpty(t, d.Message)
				_, err := XML(data)
				require.Error(t, err)
				log, _ := QueryGPU(data, []string{"index", "name"})
				assert.Empty(t, log.GPUs)
				return
			}
			assert.Equal(t, FailureNone, d.Failure)
			assert.Contains(t, []string{"gpu_requires_reset__query-gpu", "not_supported_old__query-gpu", "unable_handle_gpu3__query-gpu"}, name,
				"this test does not know what this kind of recording must yield")
		})
	}
}
