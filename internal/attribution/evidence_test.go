// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/cadence"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The rows of the first table in the comment of evidence.
func TestJudge(t *testing.T) {
	either := []bool{false, true}
	placed := []placement{inContainer, ended, outside}
	for _, row := range []struct {
		alone         []bool
		placements    []placement
		possibleUsers []bool
		want          evidence
	}{
		{[]bool{true}, []placement{inContainer, ended}, either, sole},
		{[]bool{true}, []placement{outside}, either, separate},
		{[]bool{true}, []placement{unlisted}, either, soleUnlisted},
		{[]bool{true}, []placement{unknown}, either, ambiguous},
		{[]bool{false}, placed, []bool{false}, separate},
		{[]bool{false}, placed, []bool{true}, ambiguous},
		{[]bool{false}, []placement{unlisted, unknown}, either, ambiguous},
	} {
		for _, alone := range row.alone {
			for _, place := range row.placements {
				for _, possibleUser := range row.possibleUsers {
					assert.Equal(t, row.want, judge(alone, place, possibleUser), "%v %v %v", alone, place, possibleUser)
				}
			}
		}
	}
}

// The rows of the second table in the comment of evidence: a container with one process on a device that reports a utilization of 0.8,
// or without a process.
func TestReportedByEvidence(t *testing.T) {
	none := gpu.Opt[float64]{}
	for _, row := range []struct {
		evidence           evidence
		processes          int
		device             gpu.Opt[float64] // utilization
		utilization, power gpu.Opt[float64]
		memory             gpu.Opt[int64]
		busy               gpu.Opt[float64]
	}{
		{ambiguous, 1, gpu.Some(0.8), none, none, gpu.Opt[int64]{}, none},
		{ambiguous, 0, gpu.Some(0.8), none, none, gpu.Opt[int64]{}, none},
		{separate, 1, gpu.Some(0.8), gpu.Some(0.5), gpu.Some(0.7), gpu.Some(int64(4)), gpu.Some(0.5)},
		{separate, 0, gpu.Some(0.8), gpu.Some(0.0), gpu.Some(0.2), gpu.Some(int64(0)), gpu.Some(0.0)},
		{separate, 0, none, none, none, gpu.Some(int64(0)), gpu.Some(0.0)},
		{soleUnlisted, 0, gpu.Some(0.8), gpu.Some(0.8), gpu.Some(1.0), gpu.Some(int64(10)), gpu.Some(0.8)},
		{soleUnlisted, 0, none, none, gpu.Some(1.0), gpu.Some(int64(10)), none},
		{sole, 1, gpu.Some(0.8), gpu.Some(0.8), gpu.Some(1.0), gpu.Some(int64(10)), gpu.Some(0.8)},
		{sole, 1, none, gpu.Some(0.5), gpu.Some(1.0), gpu.Some(int64(10)), gpu.Some(0.5)},
		{sole, 0, none, none, gpu.Some(1.0), gpu.Some(int64(10)), gpu.Some(0.0)},
	} {
		t.Run(fmt.Sprint(row), func(t *testing.T) {
			d := gpu.Device{ID: "d", Power: gpu.Power{Draw: gpu.Some(1.0)}, Memory: gpu.Memory{Usage: gpu.Some(int64(10))}, Energy: gpu.Total(1.0)}
			d.Utilization[gpu.TaskGeneral] = row.device
			u := deviceUsage{device: &d, holders: gpu.Some(1)}
			c := containerUsage{container: &gpu.Container{}, holder: &gpu.Holder{}, evidence: row.evidence}
			for range row.processes {
				p := gpu.Process{Memory: gpu.Some(int64(4))}
				p.Utilization[gpu.TaskGeneral] = gpu.Some(0.5)
				c.own.add(&p)
				u.all.add(&p)
			}
			all := newTotals()
			now := time.Unix(1_700_000_000, 0)
			use := u.use(&c, all.get("d", c.container), all.meter(&d, now, 0), cadence.Span{End: now, Observed: true})
			assertNear(t, row.utilization, use.Utilization[gpu.TaskGeneral])
			assertNear(t, row.power, use.Power)
			assert.Equal(t, row.power.Known(), use.Energy.Known())
			assert.Equal(t, row.memory, use.MemoryUsage)
			assertNear(t, row.busy, u.busy(&c, &use))
			assert.Equal(t, row.busy.Known(), use.IdleTime.Known())
			assert.Equal(t, row.busy.Known(), use.BusyTime.Known())
		})
	}
}

// assertNear compares two optional values.
func assertNear(t *testing.T, want, got gpu.Opt[float64]) {
	t.Helper()
	assert.Equal(t, want.Known(), got.Known())
	a, _ := want.Get()
	b, _ := got.Get()
	assert.InDelta(t, a, b, 1e-9)
}
