// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
)

// The goals of one collector for a thousand nodes of eight GPUs every 30 s.
const (
	goalCores  = 1.0
	goalMemory = 512 << 20 // bytes, anonymous
	goalGrowth = 1.1       // of the memory
	goalGap    = 2         // reads that a node may miss after a replica was killed
)

func mib(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }

// report prints the steady state and returns the missed goals.
func (m *meter) report() []error {
	o := m.options
	all := windows(m.sink.times(), m.start, o.interval, o.intervals)
	first, last := m.steps[0], m.steps[len(m.steps)-1]
	fmt.Printf("%d nodes of %d GPUs and processes every %v, %d replicas, %d shards: %d points and %d GPUs a round, %d points in the largest message.\n\n",
		o.nodes, o.gpus, o.interval, o.replicas, o.shards, (last.count.points-first.count.points)/int64(o.intervals), last.count.gpus, last.count.largest)
	fmt.Println("| interval | nodes read | share | twice | points/s | execs/s | refused | collector, cores | its anonymous memory | resident | API server, cores | its memory | simulation, cores | other load, cores |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	var missed []error
	for i, win := range all {
		before, after := m.steps[i], m.steps[i+1]
		d := after.sampleTime.Sub(before.sampleTime)
		var used float64
		var anonymous, resident int64
		for j := range after.collectors {
			used += cores(before.collectors[j], after.collectors[j], d)
			anonymous = max(anonymous, after.collectors[j].anonymous)
			resident = max(resident, after.collectors[j].resident)
		}
		api, itself := cores(before.apiServer, after.apiServer, d), cores(before.itself, after.itself, d)
		others := (after.machine-before.machine).Seconds()/d.Seconds() - used - api - itself
		fmt.Printf("| %d | %d | %.1f %% | %d | %.0f | %.1f | %d | %.2f | %s | %s | %.2f | %s | %.2f | %.2f |\n", i+1, win.read,
			100*float64(win.read)/float64(o.nodes), win.twice, float64(after.count.points-before.count.points)/d.Seconds(),
			float64(after.execs-before.execs)/d.Seconds(), after.refused+after.broken-before.refused-before.broken,
			used, mib(anonymous), mib(resident), api, mib(after.apiServer.anonymous), itself, others)
		if win.read < o.nodes || win.twice > 0 {
			missed = append(missed, fmt.Errorf("interval %d: %d of %d nodes were read, %d twice", i+1, win.read, o.nodes, win.twice))
		}
		if used > goalCores*float64(o.replicas) || anonymous > goalMemory {
			missed = append(missed, fmt.Errorf("interval %d: %.2f cores, %s", i+1, used, mib(anonymous)))
		}
	}
	d := last.sampleTime.Sub(first.sampleTime)
	var used float64
	for j := range last.collectors {
		used += cores(first.collectors[j], last.collectors[j], d)
	}
	api := cores(first.apiServer, last.apiServer, d)
	execs := float64(last.execs - first.execs)
	fmt.Printf("\nMean: collectors %.2f cores (%.1f ms a read), API server %.2f cores, %.2f before (%.1f ms an exec), %.0f points/s, %.1f execs/s, %d pods named.\n",
		used, used*d.Seconds()*1e3/execs, api, m.alone, (api-m.alone)*d.Seconds()*1e3/execs,
		float64(last.count.points-first.count.points)/d.Seconds(), execs/d.Seconds(), last.count.named-first.count.named)
	if growth := m.growth(); growth > goalGrowth {
		missed = append(missed, fmt.Errorf("the memory has grown to %.2f of what it was", growth))
	}
	return missed
}

// growth prints the development of the collectors' memory: the mean of the first and of the last third of the intervals.
func (m *meter) growth() float64 {
	part := (len(m.steps) - 1) / 3
	if part == 0 {
		return 1
	}
	mean := func(steps []sample) float64 {
		var sum int64
		for i := range steps {
			for _, c := range steps[i].collectors {
				sum += c.anonymous
			}
		}
		return float64(sum) / float64(len(steps))
	}
	first, last := mean(m.steps[1:1+part]), mean(m.steps[len(m.steps)-part:])
	fmt.Printf("Anonymous memory of all collectors: %s in the first third, %s in the last.\n", mib(int64(first)), mib(int64(last)))
	return last / first
}

// reportKill prints how the other replicas took over, and returns the missed goals.
func (m *meter) reportKill() []error {
	o := m.options
	times := m.sink.times()
	longest := gaps(times, m.names(), m.killed.Add(-2*o.interval), m.ended)
	missed := make([]int, goalGap+2) // how many nodes missed so many reads, the last: or more
	for _, gap := range longest {
		reads := int((gap+o.interval/2)/o.interval) - 1
		missed[min(max(reads, 0), len(missed)-1)]++
	}
	after := windows(times, m.killed.Add(2*o.interval), o.interval, 2)
	var twice int
	for _, win := range after {
		twice += win.twice
	}
	gap := longest[len(longest)-1]
	fmt.Printf("\nOne of %d replicas killed: %d nodes missed no read, %d one, %d two, %d more. The longest time between two reads of a node was %.1f s, %.2f intervals. "+
		"Read twice in the two intervals after that: %d.\n", o.replicas, missed[0], missed[1], missed[2], missed[3], gap.Seconds(), gap.Seconds()/o.interval.Seconds(), twice)
	if missed[goalGap+1] > 0 {
		return []error{fmt.Errorf("%d nodes missed more than %d reads", missed[goalGap+1], goalGap)}
	}
	return nil
}
