// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func seed(f *testing.F, directory string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", directory, "*"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
}

// sound checks what holds for any listing: bounds are kept, counts and sizes are not negative, and no value is NaN.
func sound(t *testing.T, log *Listing) {
	t.Helper()
	require.LessOrEqual(t, len(log.GPUs), maxGPUs)
	for i := range log.GPUs {
		g := &log.GPUs[i]
		d := &g.Device
		assert.LessOrEqual(t, len(g.MIGDevices), maxMIG)
		assert.LessOrEqual(t, len(g.Refusals), maxRefusals)
		for _, v := range []gpu.Opt[int64]{
			d.Memory.Limit, d.Memory.Usage, d.Memory.Reserved, d.Memory.Protected, d.PerformanceState, d.PCIe.Width, d.Memory.BAR1Limit,
			d.Encoder.Count, d.MemoryBanks[gpu.SparesNone],
		} {
			n, _ := v.Get()
			assert.GreaterOrEqual(t, n, int64(0))
		}
		for _, v := range append(d.Utilization[:], d.Power.Draw, d.Temperature[gpu.SensorGPU], d.MemoryController, d.Power.Memory,
			d.TemperatureMargin[gpu.LimitCritical], d.Encoder.Latency) {
			n, _ := v.Get()
			assert.False(t, math.IsNaN(n) || math.IsInf(n, 0))
		}
		replays, _ := d.PCIe.Replays.Get()
		assert.GreaterOrEqual(t, replays, int64(0))
		for _, e := range d.Errors {
			n, ok := e.Count.Get()
			assert.True(t, ok)
			assert.GreaterOrEqual(t, n, int64(0))
		}
		soundECC(t, &d.ECC)
		for m := range d.Modes {
			assert.LessOrEqual(t, len(d.Modes[m].Value), maxText)
		}
		soundProcesses(t, g.Processes)
	}
	assert.NotEmpty(t, describe(log))
}

func soundECC(t *testing.T, ecc *gpu.ECC) {
	t.Helper()
	for m := range ecc.Memory {
		for _, c := range ecc.Memory[m] {
			n, _ := c.Get()
			assert.GreaterOrEqual(t, n, int64(0))
		}
	}
	require.LessOrEqual(t, len(ecc.Locations), int(gpu.NumErrorLocations)*int(numKinds))
	for _, e := range ecc.Locations {
		n, ok := e.Count.Get()
		assert.True(t, ok)
		assert.GreaterOrEqual(t, n, int64(0))
	}
}

func soundProcesses(t *testing.T, processes []Process) {
	t.Helper()
	require.LessOrEqual(t, len(processes), maxProcesses)
	for _, p := range processes {
		assert.Positive(t, p.PID)
		memory, _ := p.Memory.Get()
		assert.GreaterOrEqual(t, memory, int64(0))
		for _, u := range p.Utilization {
			v, _ := u.Get()
			assert.GreaterOrEqual(t, v, 0.0)
		}
		Executable(p.Name)
	}
}

func FuzzXML(f *testing.F) {
	seed(f, "xml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if log, err := XML(data); err == nil {
			sound(t, log)
		}
		Diagnose(data, nil, 0)
	})
}

func FuzzCSV(f *testing.F) {
	seed(f, "csv")
	f.Fuzz(func(t *testing.T, data []byte) {
		log, _ := QueryGPU(data, csvExample)
		RemappedRows(data, []string{"gpu_uuid", "remapped_rows.pending"}, log)
		sound(t, log)
		apps, _, _ := ComputeApps(data, []string{"pid", "gpu_uuid", "used_gpu_memory", "process_name"})
		soundProcesses(t, apps)
		Diagnose(data, data, 1)
	})
}

func FuzzPmon(f *testing.F) {
	seed(f, "pmon")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Pmon(data)
		if err != nil {
			assert.Empty(t, m.Processes)
		}
		soundProcesses(t, m.Processes)
	})
}

func FuzzList(f *testing.F) {
	seed(f, "list")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, l := range DeviceList(data) {
			assert.GreaterOrEqual(t, l.Index, 0)
			assert.LessOrEqual(t, len(l.MIGDevices), maxMIG)
		}
	})
}

func FuzzHelp(f *testing.F) {
	seed(f, "help")
	f.Fuzz(func(t *testing.T, data []byte) {
		names := Help(data)
		assert.LessOrEqual(t, len(names), maxFields)
		for n := range names {
			assert.NotContains(t, n, `"`)
		}
	})
}
