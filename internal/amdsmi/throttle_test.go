// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestThrottleTime(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
	files := tool.Answer
	counts := `"accumulation_counter": 1000, "ppt_accumulated": 10, "prochot_accumulated": 0, "hbm_thermal_accumulated": "N/A"`
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric -u") {
			return smitest.Prints(`[{"gpu": 0, "throttle": {` + counts + `}}]`)
		}
		return files(args)
	}
	s := newTestSource(tool)
	seconds := func(reason gpu.ThrottleReason) (float64, bool) {
		return smitest.Read(t, s).Devices[0].Throttle[reason].Time.Get()
	}
	_, ok := seconds(gpu.ThrottlePowerPPT)
	assert.False(t, ok, "one count shows nothing")

	counts = `"accumulation_counter": 2000, "ppt_accumulated": 260, "prochot_accumulated": 0, "hbm_thermal_accumulated": "N/A"`
	node := smitest.Read(t, s) // 30 s later, a quarter of the looks
	ppt := node.Devices[0].Throttle[gpu.ThrottlePowerPPT].Time
	got, ok := ppt.Get()
	require.True(t, ok)
	assert.InDelta(t, 7.5, got, 1e-9)
	assert.Equal(t, smitest.Start.Add(30*time.Second), ppt.Since())
	got, ok = node.Devices[0].Throttle[gpu.ThrottleThermalExtern].Time.Get()
	assert.True(t, ok)
	assert.Zero(t, got)
	assert.False(t, node.Devices[0].Throttle[gpu.ThrottleThermalMemory].Time.Known())
	for _, d := range node.Devices[1:] {
		assert.False(t, d.Throttle[gpu.ThrottlePowerPPT].Time.Known(), "the package's")
	}

	got, ok = seconds(gpu.ThrottlePowerPPT)
	assert.True(t, ok)
	assert.InDelta(t, 7.5, got, 1e-9, "no look since")

	counts = `"accumulation_counter": 5, "ppt_accumulated": 1`
	_, ok = seconds(gpu.ThrottlePowerPPT)
	assert.False(t, ok, "the driver was reloaded")
	counts = `"accumulation_counter": 15, "ppt_accumulated": 11`
	got, ok = seconds(gpu.ThrottlePowerPPT)
	assert.True(t, ok)
	assert.InDelta(t, 30, got, 1e-9)
	counts = `"accumulation_counter": 16, "ppt_accumulated": 99`
	_, ok = seconds(gpu.ThrottlePowerPPT)
	assert.False(t, ok, "more often at work than looked at")
}

// A limiter that is counted by XCC has the mean time of the XCCs.
func TestThrottleTimeByXCC(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
	files := tool.Answer
	var total, counts string
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric -u") {
			return smitest.Prints(`[{"gpu": 0, "throttle": {"accumulation_counter": ` + total + `, "ppt_accumulated": ` + total + `,` +
				`"gfx_clk_below_host_limit_power_accumulated": ` + counts + `}}]`)
		}
		return files(args)
	}
	s := newTestSource(tool)
	total, counts = "1000", `{"xcp_0": [5, 100, "N/A"], "xcp_1": [7, 7, "N/A"]}`
	d := smitest.Read(t, s).Devices[0]
	assert.False(t, d.Throttle[gpu.ThrottleHostLimitPower].Time.Known())
	total, counts = "2000", `{"xcp_0": [5, 200, "N/A"], "xcp_1": [507, 7, "N/A"]}`
	d = smitest.Read(t, s).Devices[0] // 30 s later; one XCC half of them, one a tenth, and two none
	spent, ok := d.Throttle[gpu.ThrottleHostLimitPower].Time.Get()
	assert.True(t, ok)
	assert.InDelta(t, (15+3)/4.0, spent, 1e-9)
	spent, _ = d.Throttle[gpu.ThrottlePowerPPT].Time.Get()
	assert.InDelta(t, 30, spent, 1e-9)
	assert.False(t, d.Throttle[gpu.ThrottleLowUtilization].Time.Known())

	total, counts = "3000", `{"xcp_0": [5, 200], "xcp_1": [6, 7]}`
	d = smitest.Read(t, s).Devices[0]
	assert.False(t, d.Throttle[gpu.ThrottleHostLimitPower].Time.Known(), "an XCC began again")
	spent, _ = d.Throttle[gpu.ThrottlePowerPPT].Time.Get()
	assert.InDelta(t, 60, spent, 1e-9, "and the GPU did not")
	total, counts = "4000", `{"xcp_0": [5, 200, 500, 7]}`
	d = smitest.Read(t, s).Devices[0]
	spent, ok = d.Throttle[gpu.ThrottleHostLimitPower].Time.Get()
	assert.True(t, ok)
	assert.InDelta(t, (0+3+0.494*30+0)/4, spent, 1e-9)
	total, counts = "5000", `{"xcp_0": [5, 200, 500, 7, 8]}`
	d = smitest.Read(t, s).Devices[0]
	assert.False(t, d.Throttle[gpu.ThrottleHostLimitPower].Time.Known(), "one more XCC")
	total, counts = "6000", `"N/A"`
	d = smitest.Read(t, s).Devices[0]
	assert.False(t, d.Throttle[gpu.ThrottleHostLimitPower].Time.Known())
}

// TestThrottleCounts: counts of 64 bits, and the largest number of 32 bits, which is not a count.
func TestThrottleCounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gpu.Opt[uint64]{
		"0": gpu.Some[uint64](0), "4294967294": gpu.Some[uint64](1<<32 - 2), "4294967295": {}, "21474837480": gpu.Some[uint64](5<<32 + 1000),
		"18446744073709551615": {}, `"N/A"`: {}, `"-1"`: {},
	} {
		assert.Equal(t, want, looks(smitest.Decoded(t, text)), text)
	}
}

// Each limiter has a flag and a count under its own name.
func TestViolations(t *testing.T) {
	t.Parallel()
	for reason, name := range map[gpu.ThrottleReason]string{
		gpu.ThrottlePowerPPT: "ppt", gpu.ThrottleThermalGPU: "socket_thermal", gpu.ThrottleThermalMemory: "hbm_thermal",
		gpu.ThrottleThermalVR: "vr_thermal", gpu.ThrottleThermalExtern: "prochot",
		gpu.ThrottleHostLimitPower: "gfx_clk_below_host_limit_power", gpu.ThrottleHostLimitThermal: "gfx_clk_below_host_limit_thermal",
		gpu.ThrottleLowUtilization: "low_utilization",
	} {
		var d, want gpu.Device
		readThrottle(record{"throttle": map[string]any{name + "_violation_status": "ACTIVE"}}, &d)
		if reason != gpu.ThrottleLowUtilization { // there is little to do, which holds nothing back
			want.Throttle[reason].Active = gpu.Some(true)
		}
		assert.Equal(t, want.Throttle, d.Throttle, name)

		counted, ok := countsOf(record{"accumulation_counter": json.Number("9"), name + "_accumulated": json.Number("4")})
		assert.True(t, ok)
		for i, v := range violations {
			assert.Equal(t, v.reason == reason, counted.gpu[i].Known(), name)
		}
	}
}

func TestActive(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gpu.Opt[bool]{
		`"ACTIVE"`: gpu.Some(true), `"NOT ACTIVE"`: gpu.Some(false), `true`: gpu.Some(true), `"False"`: gpu.Some(false),
		`"N/A"`: {}, `null`: {}, `3`: {}, `{}`: {}, `["N/A"]`: {},
		`["NOT ACTIVE", "ACTIVE", "N/A"]`:                              gpu.Some(true),
		`{"xcp_0": ["NOT ACTIVE", "N/A"], "xcp_1": ["NOT ACTIVE"]}`:    gpu.Some(false),
		`{"xcp_0": ["NOT ACTIVE", "N/A"], "xcp_1": ["N/A", "ACTIVE"]}`: gpu.Some(true),
	} {
		assert.Equal(t, want, active(smitest.Decoded(t, text)), text)
	}
}

// The word for all limiters of boards that have no violation status.
func TestThrottledWithoutAReason(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		power, throttle string
		want            gpu.Opt[bool]
	}{
		{`{"throttle_status": "THROTTLED"}`, `"N/A"`, gpu.Some(true)},
		{`{"throttle_status": "UNTHROTTLED"}`, `{"ppt_violation_status": "N/A"}`, gpu.Some(false)},
		{`{"throttle_status": "N/A"}`, `{"apu_throttle_status": "UNTHROTTLED", "apu_indep_throttle_status": "THROTTLED"}`, gpu.Some(true)},
		{`{"throttle_status": "N/A"}`, `{"ppt_violation_status": "ACTIVE"}`, gpu.Opt[bool]{}},
		{`{"throttle_status": "something else"}`, `"N/A"`, gpu.Opt[bool]{}},
		{`{"throttle_status": 3}`, `"N/A"`, gpu.Opt[bool]{}},
		{`"N/A"`, `"N/A"`, gpu.Opt[bool]{}},
	} {
		d := gpu.Device{Info: gpu.Info{ComputeCapability: "gfx1100"}}
		readThrottle(record{"power": smitest.Decoded(t, tt.power), "throttle": smitest.Decoded(t, tt.throttle)}, &d)
		assert.Equal(t, tt.want, d.Throttle[gpu.ThrottleUnspecified].Active, tt.power+tt.throttle)
	}
}

// ROCm 6.1 prints UNTHROTTLED for MI300, whose table of metrics has no throttle status.
func TestThrottleStatusOfGPUsWithoutOne(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]gpu.Opt[bool]{
		"gfx1201": gpu.Some(false), "gfx90a": gpu.Some(false), "gfx908": gpu.Some(false), "gfx942": {}, "gfx950": {}, "": {},
	} {
		d := gpu.Device{Info: gpu.Info{ComputeCapability: target}}
		readThrottle(record{"power": map[string]any{"throttle_status": "UNTHROTTLED"}}, &d)
		assert.Equal(t, want, d.Throttle[gpu.ThrottleUnspecified].Active, target)
	}
}
