// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// A mode has one point, with its current value. A pending change is 1 while it is pending, 0 afterwards, and absent if no change was ever
// pending.
func TestModeChanges(t *testing.T) {
	r := newRecorder(everything())
	read := func(value string, pending gpu.Opt[bool]) (values, waiting map[any]float64) {
		d := gpu.Device{ID: gpuID}
		d.Modes[gpu.ModeECC] = gpu.Mode{Value: value, Pending: pending}
		points := otlptest.Points(r.Record(&gpu.Node{Time: readAt, Devices: []gpu.Device{d}}))
		return byAttribute(points, "hw.gpu.mode.current", "hw.gpu.mode.value"), byAttribute(points, "hw.gpu.mode.pending", "hw.gpu.mode.name")
	}
	values, waiting := read("enabled", gpu.Some(false))
	assert.Equal(t, map[any]float64{"enabled": 1}, values)
	assert.Empty(t, waiting)
	_, waiting = read("enabled", gpu.Some(true))
	assert.Equal(t, map[any]float64{"ecc": 1}, waiting)
	values, waiting = read("disabled", gpu.Some(false))
	assert.Equal(t, map[any]float64{"disabled": 1}, values)
	assert.Equal(t, map[any]float64{"ecc": 0}, waiting)
	values, waiting = read("", gpu.Opt[bool]{})
	assert.Empty(t, values)
	assert.Empty(t, waiting)
	values, _ = read(strings.Repeat("x", 1000), gpu.Opt[bool]{})
	assert.Equal(t, map[any]float64{strings.Repeat("x", maxModeValue): 1}, values, "a driver's word is bounded")
}

// An amount of spare rows that no bank has had has no point, so that a GPU that is well has one.
func TestBanksChange(t *testing.T) {
	r := newRecorder(everything())
	read := func(most, none int64) map[any]float64 {
		d := gpu.Device{ID: gpuID}
		for i := range d.MemoryBanks {
			d.MemoryBanks[i] = gpu.Some[int64](0)
		}
		d.MemoryBanks[gpu.SparesMax], d.MemoryBanks[gpu.SparesNone] = gpu.Some(most), gpu.Some(none)
		points := otlptest.Points(r.Record(&gpu.Node{Time: readAt, Devices: []gpu.Device{d}}))
		return byAttribute(points, "hw.gpu.memory.bank.count", "hw.gpu.memory.bank.spares")
	}
	assert.Equal(t, map[any]float64{"max": 640}, read(640, 0))
	assert.Equal(t, map[any]float64{"max": 639, "none": 1}, read(639, 1))
	assert.Equal(t, map[any]float64{"max": 640, "none": 0}, read(640, 0))
}

// The times of a process count from its start.
func TestProcessTimesStartWithTheProcess(t *testing.T) {
	created := readAt.Add(-time.Hour)
	record := func(created time.Time) []otlptest.Point {
		return otlptest.Of(recordAll(&gpu.Node{Time: readAt, Processes: []gpu.Process{
			{PID: 7, DeviceID: gpuID, Type: gpu.ProcessCompute, Created: created, SDMATime: gpu.Total(1.5), EvictedTime: gpu.Total(2.5)},
		}}), "process.gpu.sdma.time")
	}
	points := record(created)
	require.Len(t, points, 1)
	assert.Equal(t, created.UTC(), points[0].Start.AsTime())
	assert.Equal(t, readAt.UTC(), record(readAt.Add(time.Hour))[0].Start.AsTime(), "the clock was set back")
	assert.Empty(t, record(time.Time{}), "another process may have had the PID")
	assert.Equal(t, []word{"compute", "graphics", "compute_graphics", "mps"}, applied(processTypes[gpu.ProcessCompute:]), "the table is as it was")
}
