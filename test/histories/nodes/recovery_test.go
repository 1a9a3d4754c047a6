// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// ofDevice returns the series of a device, without those that depend on pods, on events, on other GPUs, or on a driver that is kept open.
func ofDevice(points []otlptest.Point, id string) []string {
	var series []string
	for _, p := range points {
		if over := p.Value == 0 && (p.Metric == "hw.gpu.fault" || p.Metric == "hw.gpu.recovery.action"); over {
			continue // a state that the device has had, until it is gone
		}
		if p.Attributes["hw.id"] == id && strings.HasPrefix(p.Metric, "hw.") && p.Metric != "hw.gpu.allocated" &&
			p.Attributes["hw.gpu.xid"] == nil && p.Metric != "hw.gpu.info" && p.Metric != "hw.gpu.board.info" && p.Metric != "hw.gpu.pipe.utilization" && p.Metric != "hw.gpu.sm.occupancy" &&
			p.Metric != "hw.gpu.peer.status" {
			series = append(series, p.Series())
		}
	}
	slices.Sort(series)
	return series
}

// checkUntouched requires that a device without a step keeps all its series, and that its counters continue.
func (n *node) checkUntouched(points []otlptest.Point) []string {
	var result []string
	for id, want := range n.previous.well {
		if address, there := n.previous.places[id]; !there || n.machine.touched(address) {
			continue
		}
		if slices.ContainsFunc(points, func(p otlptest.Point) bool {
			return p.Metric == "hw.gpu.fault" && p.Attributes["hw.id"] == id && p.Attributes["error.type"] == "hung" && p.Value == 1
		}) {
			continue // the machine is slow
		}
		if got := ofDevice(points, id); !slices.Equal(want, got) {
			result = append(result, fmt.Sprintf("%s had no step, lacks %q and has in addition %q", id, without(want, got), without(got, want)))
		}
		for _, series := range n.sequence.Restarted {
			if strings.HasPrefix(series, "hw.") && strings.Contains(series, id) && !strings.Contains(series, "hw.parent="+id) {
				result = append(result, series+" started again for no reason")
			}
		}
	}
	return result
}

func without(all, less []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(less, one) })
}

// Recover implements histories.World. Three reads in a row must show what is true.
func (n *node) Recover() []string {
	n.machine.recover()
	n.jump = 0
	var untrue string
	good := 0
	for range 200 {
		n.Pass(10)
		begin := time.Now()
		points, wrong := n.read(unhurried)
		n.limit = max(n.limit, min(10*time.Since(begin), maxLimit)) // a busy machine needs longer without a hang
		if len(wrong) > 0 {
			return wrong
		}
		if untrue = n.untrue(points) + n.lacking(points); untrue == "" {
			if good++; good == 3 {
				n.remember(points)
				return nil
			}
			continue
		}
		good = 0
		time.Sleep(time.Millisecond)
	}
	return []string{"what is sent is not true after the recovery: " + untrue}
}

// lacking returns the earlier series of devices without faults that are still absent.
func (n *node) lacking(points []otlptest.Point) string {
	var lacking []string
	for id, want := range n.previous.well {
		if _, there := n.sequence.States[id]; there {
			lacking = append(lacking, without(want, ofDevice(points, id))...)
		}
	}
	return strings.Join(lacking, "\n")
}

// remember stores the series of each device when there is no fault.
func (n *node) remember(points []otlptest.Point) {
	if n.previous.well == nil {
		n.previous.well = map[string][]string{}
	}
	n.previous.places = map[string]string{}
	for _, p := range otlptest.Of(points, "hw.gpu.info") {
		id := p.Attributes["hw.id"].(string)
		n.previous.well[id] = ofDevice(points, id)
		n.previous.places[id], _ = p.Attributes["hw.gpu.pci.address"].(string)
	}
	n.sequence.ClockSet = false
	n.machine.settle()
}
