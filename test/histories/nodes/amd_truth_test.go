// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// amdProcess is a process on a GPU or a partition.
type amdProcess struct {
	pid, client int
	card        *amdGPU
	partition   int
	memory      int64 // bytes
}

// run starts a process, sometimes with the PID of one that has ended.
func (n *amdNode) run(c *amdGPU) {
	if c.fate != "" || n.unloaded || c.Status != "active" || n.tool != "" && c.XCCs == 0 {
		return
	}
	n.serial++
	u := amdProcess{pid: 60000 + n.rng.IntN(8), client: n.serial, card: c, partition: n.rng.IntN(len(c.Partitions)), memory: int64(1+n.rng.IntN(3000)) << 20}
	n.end(func(o *amdProcess) bool { return o.pid == u.pid })
	n.processes = append(n.processes, u)
}

func (n *amdNode) end(which func(*amdProcess) bool) {
	n.processes = slices.DeleteFunc(n.processes, func(u amdProcess) bool { return which(&u) })
}

func (u *amdProcess) name() string { return fmt.Sprint("job-", u.client) }

func (u *amdProcess) process() amdgpusim.Process {
	p := &u.card.Partitions[u.partition]
	number := u.card.Number
	if p.XCP != "" {
		number = p.Number
	}
	simulated := amdgpusim.Process{PID: u.pid, Name: u.name(), Files: []amdgpusim.File{{
		FD: 20, Target: fmt.Sprint("/dev/dri/renderD", 128+number),
		Client: &amdgpusim.Client{ID: uint64(u.client), Address: u.card.Address, Keys: []string{amdgpusim.VRAM(u.memory >> 10)}},
	}}}
	if u.card.XCCs > 0 {
		simulated.Compute = []amdgpusim.ComputeUse{{GPUID: p.GPUID, VRAM: u.memory, Occupied: 8}}
	}
	return simulated
}

func (n *amdNode) truth() (devices, holders, processes []string) {
	for _, c := range n.cards {
		devices = append(devices, c.id()+" ok")
		if ids := c.leaves(); len(ids) > 1 {
			for _, id := range ids {
				devices = append(devices, id+" ok")
			}
		}
	}
	for _, u := range n.processes {
		processes = append(processes, fmt.Sprint(u.card.leaves()[u.partition], " ", u.pid, " ", float64(u.memory), " ", nil, " ", nil))
	}
	return devices, nil, processes
}

// sentEnergy is an energy counter as sent.
type sentEnergy struct {
	point  otlptest.Point
	joules float64 // the GPU's true energy
	resets int
}

// wrongReadings compares the sent values with the true ones. A value may be absent, but not wrong.
func (n *amdNode) wrongReadings(points []otlptest.Point) []string {
	var result []string
	counted, expected := 0.0, 0.0
	for _, c := range n.cards {
		// A GPU that was handed to another driver is not reported as missing when it leaves the bus.
		if c.fate != "absent" || !c.handed {
			expected++
		}
	}
	for _, p := range points {
		id, _ := p.Attributes["hw.id"].(string)
		if p.Metric == "hw.gpu.count" {
			counted += p.Value
		}
		for _, c := range n.cards {
			i := slices.Index(c.leaves(), id)
			if want, ok := c.reading(&p, i); ok && (id == c.id() || i >= 0) && want != p.Value {
				result = append(result, fmt.Sprintf("%s is %v, not %v", p.Series(), p.Value, want))
			}
			if p.Metric == "hw.energy" && id == c.id() {
				result = append(result, n.wrongEnergy(c, p)...)
			}
		}
	}
	if counted != expected && n.previous.well != nil && n.tool == "" {
		result = append(result, fmt.Sprintf("%v GPUs are counted, of %v: %v", counted, expected, n.sequence.States))
	}
	return result
}

// reading is the true value of a point of a GPU or of its partition.
func (c *amdGPU) reading(p *otlptest.Point, partition int) (float64, bool) {
	divided := len(c.Partitions) > 1
	switch {
	case divided && partition >= 0:
		return float64(c.Partitions[partition].Used), p.Metric == "hw.gpu.memory.usage"
	case p.Metric == "hw.power":
		return c.watts(), !c.IsAPU // of the package
	case p.Metric == "hw.gpu.memory.usage":
		return float64(c.Readings.VRAMUsed), true
	case p.Metric == "hw.gpu.utilization" && p.Attributes["hw.gpu.task"] == "general":
		return float64(c.Readings.Busy) / 100, true
	case p.Metric == "hw.temperature" && p.Attributes["hw.sensor_location"] == "hotspot":
		return float64(c.Readings.Junction) / 1000, true
	case p.Metric == "hw.errors" && p.Attributes["hw.gpu.error.block"] == "umc" && p.Attributes["error.type"] == "corrected":
		return float64(c.errors), true
	}
	return 0, false
}

// wrongEnergy requires that a continuing counter has grown by the energy of the GPU.
func (n *amdNode) wrongEnergy(c *amdGPU, p otlptest.Point) []string {
	before, ok := n.energy[c.id()]
	n.energy[c.id()] = sentEnergy{p, c.joules, c.resets}
	if !ok || before.point.Start != p.Start {
		return nil
	}
	grown, drawn := p.Value-before.point.Value, c.joules-before.joules
	off := 2 + drawn/1e4 // the tools' unit is not exact
	if c.perJoule() == 1 {
		off += 0.001 * 65536 // amd-smi rounds what it takes for joules to three digits
	}
	if grown > drawn+off || grown < drawn-off && c.resets == before.resets && !n.sequence.ClockSet {
		return []string{fmt.Sprintf("%s grew by %v J, of %v that were drawn", p.Series(), grown, drawn)}
	}
	return nil
}
