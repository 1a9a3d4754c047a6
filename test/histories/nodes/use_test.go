// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// counted are the counters of containers that the records of use have, by the attribute.
var counted = map[string]string{"container.gpu.energy": "hw.gpu.use.energy", "container.gpu.idle.time": "hw.gpu.use.idle_time"}

// uses are the allocations that the messages show: those that the events have begun, with what the counters have counted since.
type uses struct {
	open map[string]*use // by device and container
}

type use struct {
	grown    map[string]float64 // by counter
	counters map[string]otlptest.Point
	lastSeen pcommon.Timestamp // of the last message that had it
	jumped   bool              // the clock was set meanwhile
}

// add compares the increase of the counters since the message before with the sum of the events that come with it.
func (u *uses) add(points []otlptest.Point, events []map[string]any, clockSet bool) []string {
	if u.open == nil {
		u.open = map[string]*use{}
	}
	holders, counters, now := map[string]string{}, map[string]map[string]otlptest.Point{}, pcommon.Timestamp(0)
	for _, p := range points {
		if !strings.HasPrefix(p.Metric, "container.gpu.") {
			continue
		}
		now = max(now, p.Time)
		key := useKey(p.Attributes)
		instance := key + fmt.Sprint(p.Resource["k8s.pod.uid"], " ", p.Resource["container.id"])
		if p.Metric == "container.gpu.allocated" && p.Value == 1 {
			holders[key] = instance
		}
		if counted[p.Metric] != "" {
			if counters[instance] == nil {
				counters[instance] = map[string]otlptest.Point{}
			}
			counters[instance][p.Metric] = p
		}
	}
	var result []string
	ended := map[string]map[string]any{}
	start := map[string]bool{}
	for _, e := range events {
		key := useKey(e)
		if e["hw.gpu.use.end_time"] == nil {
			if u.open[key] != nil && ended[key] == nil || start[key] || holders[key] == "" {
				result = append(result, key+"is allocated, but it was before, or is not held")
			}
			start[key] = true
			continue
		}
		ended[key] = e
		if u.open[key] == nil {
			result = append(result, key+"is released, but was not allocated")
			continue
		}
		result = append(result, u.open[key].compare(key, e)...)
		delete(u.open, key)
	}
	for key, instance := range holders {
		open := u.open[key]
		if open == nil {
			if !start[key] {
				result = append(result, key+"is held, but was not allocated")
			}
			open = &use{grown: map[string]float64{}, counters: map[string]otlptest.Point{}}
			u.open[key] = open
			open.counters, open.lastSeen = counters[instance], now
			continue
		}
		open.jumped = open.jumped || clockSet
		open.grow(counters[instance], now)
	}
	return result
}

// grow adds by how much the counters have grown since the last message that had them. One that has started since then has grown by all that it has.
func (u *use) grow(counters map[string]otlptest.Point, now pcommon.Timestamp) {
	for metric, p := range counters {
		before, ok := u.counters[metric]
		switch {
		case ok && before.Start == p.Start:
			u.grown[metric] += p.Value - before.Value
		case p.Start >= u.lastSeen:
			u.grown[metric] += p.Value
		}
	}
	u.counters, u.lastSeen = counters, now
}

// compare compares the record of an end with what the counters have counted.
func (u *use) compare(key string, e map[string]any) []string {
	var result []string
	number := func(name string) float64 { v, _ := e[name].(float64); return v }
	for metric, attribute := range counted {
		if got, want := number(attribute), u.grown[metric]; !u.jumped && math.Abs(got-want) > 1e-6*max(1, want) {
			result = append(result, fmt.Sprintf("%s%s is %v, %s has counted %v", key, attribute, got, metric, want))
		}
	}
	duration := number("hw.gpu.use.duration")
	if used := number("hw.gpu.use.busy_time") + number("hw.gpu.use.idle_time"); !u.jumped && used > duration+1e-6 {
		result = append(result, fmt.Sprintf("%swas busy and idle for %v s of %v", key, used, duration))
	}
	if gpu := number("hw.gpu.use.gpu_time"); duration < 0 || gpu < 0 || !u.jumped && gpu > duration+1e-6 {
		result = append(result, fmt.Sprintf("%shas %v GPU-seconds in %v s", key, gpu, duration))
	}
	return result
}

// useKey names a device and a container.
func useKey(a map[string]any) string {
	return fmt.Sprint(a["hw.id"], " ", a["k8s.namespace.name"], "/", a["k8s.pod.name"], "/", a["k8s.container.name"], " ")
}
