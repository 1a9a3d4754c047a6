// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// quantity is a metric of a GPU, with the attributes that its point has besides hw.id.
type quantity struct {
	name, unit, metric string
	attributes         []string
	scale              float64 // from the metric's unit to unit
	rate               bool    // the increase in a second
}

var (
	power         = quantity{"power", "W", "hw.power", nil, 1, false}
	energy        = quantity{"energy per second", "W", "hw.energy", nil, 1, true}
	utilization   = quantity{"utilization", "", "hw.gpu.utilization", []string{"hw.gpu.task", "general"}, 1, false}
	memoryBusy    = quantity{"utilization of the memory controller", "", "hw.gpu.memory.controller.utilization", nil, 1, false}
	memory        = quantity{"memory", "MiB", "hw.gpu.memory.usage", nil, 1. / (1 << 20), false}
	temperature   = quantity{"temperature", "°C", "hw.temperature", []string{"hw.sensor_location", "gpu"}, 1, false}
	clock         = quantity{"SM clock", "MHz", "hw.gpu.speed", []string{"hw.gpu.clock_domain", "sm"}, 1e-6, false}
	dram          = quantity{"memory rate, of the peak rate", "", "hw.gpu.pipe.utilization", []string{"hw.gpu.pipe", "dram"}, 1, false}
	pcie          = quantity{"received by PCIe", "GB/s", "hw.gpu.io", []string{"network.io.direction", "receive"}, 1e-9, true}
	processMemory = quantity{"memory of the load's process", "MiB", "process.gpu.memory.usage", nil, 1. / (1 << 20), false}
)

// shown is what the report shows of each phase.
var shown = []quantity{power, utilization, memoryBusy, memory, temperature, clock}

// compared are the metrics that are compared.
var compared = func() map[string]bool {
	all := map[string]bool{}
	for _, q := range append([]quantity{energy, dram, pcie, processMemory}, shown...) {
		all[q.metric] = true
	}
	return all
}()

// value returns the mean of a quantity of a GPU over the reads that have it, or its rate.
func (q *quantity) value(reads []read, id string) gpu.Opt[float64] {
	var times, values []float64
	for _, r := range reads {
		if v, known := r.points.Value(q.metric, append([]string{"hw.id", id}, q.attributes...)...); known {
			times, values = append(times, r.time), append(values, v*q.scale)
		}
	}
	last := len(values) - 1
	switch {
	case last < 0 || q.rate && last == 0:
		return gpu.Opt[float64]{}
	case q.rate:
		return gpu.Some((values[last] - values[0]) / (times[last] - times[0]))
	}
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return gpu.Some(sum / float64(len(values)))
}

// The verdicts.
const (
	same    = "ok"
	differs = "DIFFERS"
	notRead = "not read"
)

// check compares what the first source reports with what must be so.
type check struct {
	phase, quantity, unit string
	want                  float64
	low, high             float64 // allowed
	got                   gpu.Opt[float64]
}

func (c *check) verdict() string {
	got, known := c.got.Get()
	switch {
	case !known:
		return notRead
	case got < c.low || got > c.high:
		return differs
	}
	return same
}

func near(phase string, q quantity, want, tolerance float64, got gpu.Opt[float64]) check {
	return check{phase, q.name, q.unit, want, want - tolerance, want + tolerance, got}
}

func factor(phase string, q quantity, want, low, high float64, got gpu.Opt[float64]) check {
	return check{phase, q.name, q.unit, want, want * low, want * high, got}
}

// gpus returns the IDs of the GPUs that are compared: all, or the GPU with the load.
func (t *test) gpus() []string {
	var ids []string
	for _, s := range t.sources {
		for _, r := range s.between(0, math.Inf(1)) {
			for _, id := range r.points.Select(memory.metric).Distinct("hw.id") {
				if !slices.Contains(ids, id) && (t.load == nil || strings.HasSuffix(id, t.load.UUID)) {
					ids = append(ids, id)
				}
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// checks compares what the first source reports of a GPU with itself and with what the load did.
func (t *test) checks(id string) []check {
	var all []check
	own := processMemory
	if t.load != nil {
		own.attributes = []string{"process.pid", strconv.Itoa(t.load.PID)}
	}
	var before gpu.Opt[float64]
	for i := range t.phases {
		p := &t.phases[i]
		reads := t.sources[0].during(p)
		switch p.Phase {
		case idle, arithmetic:
			if want, known := power.value(reads, id).Get(); known {
				all = append(all, factor(p.Phase, energy, want, .95, 1.05, energy.value(reads, id)))
			}
			if p.Phase == idle {
				before = own.value(reads, id)
				continue
			}
			all = append(all, near(p.Phase, utilization, p.Busy/p.duration(), .1, utilization.value(reads, id)))
		case halfDuty:
			all = append(all, near(p.Phase, utilization, p.Busy/p.duration(), .1, utilization.value(reads, id)))
		case deviceCopy: // each byte is read and written
			if t.load.MemoryRate > 0 {
				all = append(all, factor(p.Phase, dram, 2*p.Bytes/p.duration()/t.load.MemoryRate, .8, 1.2, dram.value(reads, id)))
			}
		case hostCopy: // packets have headers
			all = append(all, factor(p.Phase, pcie, p.Bytes/p.duration()*pcie.scale, .95, 1.3, pcie.value(reads, id)))
		case allocation:
			grown := gpu.Opt[float64]{}
			if a, known := before.Get(); known {
				if b, known := own.value(reads, id).Get(); known {
					grown = gpu.Some(b - a)
				}
			}
			all = append(all, near(p.Phase, own, p.Allocated*own.scale, 16, grown))
		}
	}
	return all
}
