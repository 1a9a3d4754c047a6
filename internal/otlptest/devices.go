// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"slices"
	"strings"
)

// device is what one message reports of a device.
type device struct {
	info      int
	states    map[string]float64
	faults    []string
	parent    string
	identity  string
	allocated []float64 // 0 or 1; none if unknown
	holders   int

	usage, limit, power []float64
	busy                map[string]float64 // by task
	usedBy, drawnBy     float64            // by containers
	busyBy              map[string]float64
	children            int
	processes           int
	readings            int // points other than info, states and allocations
}

// devicesOf collects what a message reports of each device, by hw.id.
func devicesOf(points []Point, result *violations) map[string]*device {
	devices := map[string]*device{}
	for _, p := range Of(points, "hw.gpu.info") {
		id := p.Attributes["hw.id"].(string)
		if devices[id] == nil {
			devices[id] = &device{states: map[string]float64{}, busy: map[string]float64{}, busyBy: map[string]float64{}, identity: p.identity()}
		}
		devices[id].info++
		devices[id].parent, _ = p.Attributes["hw.parent"].(string)
	}
	for i := range points {
		p := &points[i]
		id, ok := p.Attributes["hw.id"].(string)
		if !ok {
			continue
		}
		if d := devices[id]; d == nil {
			result.add("%s belongs to a device without hw.gpu.info", p.Series())
		} else {
			d.add(p, result)
		}
	}
	for id, d := range devices {
		if d.parent == "" {
			continue
		}
		if devices[d.parent] == nil {
			result.add("%s is a partition of %s, which is not reported", id, d.parent)
			continue
		}
		devices[d.parent].children++
		devices[d.parent].holders += d.holders
	}
	return devices
}

// identity returns the attributes that all points of a device have in common.
func (p *Point) identity() string {
	identity := map[string]any{}
	for _, name := range []string{"hw.name", "hw.model", "hw.vendor", "hw.parent"} {
		if v, ok := p.Attributes[name]; ok {
			identity[name] = v
		}
	}
	return text(identity)
}

func (d *device) add(p *Point, result *violations) {
	if strings.HasPrefix(p.Metric, "hw.") && p.identity() != d.identity {
		result.add("%s lacks the identity of its device: %s", p.Series(), d.identity)
	}
	switch p.Metric {
	case "hw.gpu.info", "hw.gpu.board.info", "hw.status", "hw.gpu.allocated", "container.gpu.allocated":
	default:
		d.readings++
	}
	task, _ := p.Attributes["hw.gpu.task"].(string)
	switch p.Metric {
	case "hw.status":
		d.states[p.Attributes["hw.state"].(string)] = p.Value
	case "hw.gpu.fault":
		if p.Value == 1 {
			d.faults = append(d.faults, p.Attributes["error.type"].(string))
		}
	case "hw.gpu.allocated":
		d.allocated = append(d.allocated, p.Value)
	case "hw.gpu.memory.usage":
		d.usage = append(d.usage, p.Value)
	case "hw.gpu.memory.limit":
		d.limit = append(d.limit, p.Value)
	case "hw.power":
		d.power = slices.Insert(d.power, 0, p.Value)
	case "hw.gpu.power.instant":
		d.power = append(d.power, p.Value)
	case "hw.gpu.utilization":
		d.busy[task] = p.Value
	case "container.gpu.allocated":
		d.holders += int(p.Value)
	case "container.gpu.memory.usage":
		d.usedBy += p.Value
	case "container.gpu.power":
		d.drawnBy += p.Value
	case "container.gpu.utilization", "container.gpu.media.utilization":
		d.busyBy[task] += p.Value
	}
	if strings.HasPrefix(p.Metric, "process.") || strings.HasPrefix(p.Metric, "container.") {
		d.processes++
	}
}

// check checks the invariants of one device.
func (d *device) check(result *violations, id string) {
	sum := 0.0
	for _, v := range d.states {
		sum += v
	}
	unread := len(d.states) == 0 && d.readings == 0
	if d.info != 1 || !unread && (len(d.states) != 4 || sum != 1) {
		result.add("%s has %d infos and the states %v", id, d.info, d.states)
	}
	if !unread && (d.states["ok"] == 1) != (len(d.faults) == 0) {
		result.add("%s has the states %v and the faults %v", id, d.states, d.faults)
	}
	if d.children > 0 && d.processes > 0 {
		result.add("%s has partitions, and containers or processes of its own", id)
	}
	for _, value := range d.allocated {
		if (value == 1) != (d.holders > 0) {
			result.add("%s is allocated: %v, to %d containers", id, value, d.holders)
		}
	}
	if len(d.allocated) == 0 && d.holders > 0 && d.children == 0 {
		result.add("%s has %d holders, and hw.gpu.allocated is absent", id, d.holders)
	}
	for _, limit := range slices.Concat(d.usage, d.limit) {
		if !within(d.usedBy, limit) {
			result.add("%s: containers use %v bytes of %v", id, d.usedBy, limit)
		}
	}
	for _, usage := range d.usage {
		for _, limit := range d.limit {
			if usage > limit {
				result.add("%s: %v bytes of %v are used", id, usage, limit)
			}
		}
	}
	if d.drawnBy > 0 && len(d.power) == 0 || len(d.power) > 0 && !within(d.drawnBy, d.power[0]) {
		result.add("%s: containers draw %v watts of %v", id, d.drawnBy, d.power)
	}
	for task, busy := range d.busyBy {
		bound, ok := d.busy[task]
		if !ok {
			bound = 1
		}
		if !within(busy, bound) {
			result.add("%s: containers use %v of the time for %s, the device %v", id, busy, task, bound)
		}
	}
}
