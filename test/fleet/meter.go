// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"time"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// usage is the resource usage of a process.
type usage struct {
	cpu                 time.Duration
	anonymous, resident int64
}

// measure returns the resource usage of a process until now. It returns zero values if the process has ended.
func measure(pid int) usage {
	var u usage
	var err error
	if u.cpu, err = harness.CPUTime(pid); err != nil {
		return usage{}
	}
	u.anonymous, u.resident, _ = harness.Memory(pid)
	return u
}

// sample is the state of a run at one time.
type sample struct {
	sampleTime time.Time
	collectors []usage
	apiServer  usage
	itself     usage // the simulated kubelets and the sink
	machine    time.Duration
	execs      int64
	refused    int64
	broken     int64
	count      count
}

// cores returns the average number of processors used between two samples.
func cores(before, after usage, d time.Duration) float64 {
	if after.cpu == 0 {
		return 0
	}
	return (after.cpu - before.cpu).Seconds() / d.Seconds()
}
