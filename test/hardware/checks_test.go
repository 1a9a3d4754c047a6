// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// point is a point of the GPU. q.scale is undone, so values are given in the unit of the quantity.
func point(q quantity, value float64, more ...string) harness.Point {
	attributes := map[string]string{"hw.id": "GPU-u"}
	pairs := append(append([]string{}, q.attributes...), more...)
	for i := 0; i < len(pairs); i += 2 {
		attributes[pairs[i]] = pairs[i+1]
	}
	return harness.Point{Metric: q.metric, Attributes: attributes, Value: value / q.scale}
}

// What the source reports is compared with what the load did: each phase has 10 s, of which the reads at 3 s and 9 s count.
func TestChecks(t *testing.T) {
	s := &source{name: "nvml", interval: time.Second}
	l := &load{loaded: loaded{PID: 7, UUID: "u", MemoryRate: 4e12}}
	var phases []done
	add := func(d done, at3, at9 []harness.Point) {
		d.Begin = 10 * float64(len(phases))
		d.End = d.Begin + 10
		phases = append(phases, d)
		s.all = append(s.all, read{time: d.Begin + 1, points: []harness.Point{point(memory, 1), point(utilization, .3)}},
			read{time: d.Begin + 3, points: at3}, read{time: d.Begin + 9, points: at9})
	}
	add(done{Phase: "idle"}, []harness.Point{point(power, 70), point(energy, 1000), point(processMemory, 500, "process.pid", "7")},
		[]harness.Point{point(power, 80), point(energy, 1450), point(processMemory, 500, "process.pid", "7")})
	add(done{Phase: "arithmetic", Busy: 9.9}, []harness.Point{point(utilization, .98), point(power, 600), point(energy, 5000)},
		[]harness.Point{point(utilization, 1), point(power, 600), point(energy, 5000+6*500)})
	add(done{Phase: "device copy", Bytes: 18e12}, []harness.Point{point(dram, .88)}, nil)
	add(done{Phase: "host copy", Bytes: 500e9}, []harness.Point{point(pcie, 100)}, []harness.Point{point(pcie, 100+6*58)})
	add(done{Phase: "allocation", Allocated: 2 << 30}, []harness.Point{point(processMemory, 2548, "process.pid", "7")}, nil)
	add(done{Phase: "half duty", Busy: 5}, []harness.Point{point(utilization, .9)}, []harness.Point{point(utilization, .9)})
	test := &test{sources: []*source{s}, load: l, phases: phases}

	assert.Equal(t, []string{"GPU-u"}, test.gpus())
	var got []string
	for _, c := range test.checks("GPU-u") {
		got = append(got, fmt.Sprintf("%s, %s: %s, must be %.4g: %s", c.phase, c.quantity, text(c.got), c.want, c.verdict()))
	}
	assert.Equal(t, []string{
		"idle, energy per second: 75, must be 75: ok",
		"arithmetic, energy per second: 500, must be 600: DIFFERS",
		"arithmetic, utilization: 0.99, must be 0.99: ok",
		"device copy, memory rate, of the peak rate: 0.88, must be 0.9: ok",
		"host copy, received by PCIe: 58, must be 50: ok",
		"allocation, memory of the load's process: 2048, must be 2048: ok",
		"half duty, utilization: 0.9, must be 0.5: DIFFERS",
	}, got)
	s.all = s.all[:2]
	for _, c := range test.checks("GPU-u") {
		assert.Equal(t, notRead, c.verdict(), c.phase)
	}
}
