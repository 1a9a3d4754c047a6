// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"time"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// usage is what a process has used.
type usage struct {
	cpu                 time.Duration
	anonymous, resident int64
}

// measure returns what a process has used until now; nothing where it has ended.
func measure(pid int) usage {
	var u usage
	var err error
	if u.cpu, err = harness.CPUTime(pid); err != nil {
		return usage{}
	}
	u.anonymous, u.resident, _ = harness.Memory(pid)
	return u
}

// sample is how a run stands.
type sample struct {
	at         time.Time
	collectors []usage
	apiServer  usage
	itself     usage // the simulated kubelets and the sink
	machine    time.Duration
	execs      int64
	refused    int64
	broken     int64
	count      count
}

// cores is how many processors' time was used between two samples.
func cores(before, after usage, d time.Duration) float64 {
	if after.cpu == 0 {
		return 0
	}
	return (after.cpu - before.cpu).Seconds() / d.Seconds()
}
