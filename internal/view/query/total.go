// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// total adds up devices that do not contain each other.
type total struct {
	nodes, unreadable, silent int
	gpus                      int
	health                    map[view.HealthClass]int

	memory                   memory
	utilization, temperature Mean
	power, limit             sum
	processes                int  // on the nodes before the last one
	read                     bool // a device was read: its processes are known

	node *view.Node       // the last one
	pids map[int]struct{} // on the last node
}

// add counts a device. Parts are its partitions, if it represents them.
func (t *total) add(n *view.Node, g *view.GPU, parts []*view.GPU) {
	t.enter(n)
	t.gpus++
	t.memory.add(&g.Memory)
	t.temperature.Add(CoreTemperature(g))
	t.power.add(g.Power.Watts)
	t.limit.add(g.Power.Limit)
	t.utilization.Add(Utilization(g, parts))
	t.read = t.read || WasRead(g)
}

// count counts the health of a device. A divided GPU is throttled if one of its partitions is.
func (t *total) count(g *view.GPU, parts []*view.GPU) {
	health := g.Health()
	if health == view.HealthOK && slices.ContainsFunc(parts, (*view.GPU).Slowed) {
		health = view.HealthThrottled
	}
	if t.health == nil {
		t.health = map[view.HealthClass]int{}
	}
	t.health[health]++
}

// enter counts a node once: its devices follow each other.
func (t *total) enter(n *view.Node) {
	if t.node != n {
		t.processes += len(t.pids)
		t.nodes++
		if n.Readable != nil && !*n.Readable {
			t.unreadable++
		}
		if n.State == view.Stale {
			t.silent++
		}
		t.node = n
		clear(t.pids)
	}
}

// process counts a process on the last node, once however many devices it uses.
func (t *total) process(pid int) {
	if t.pids == nil {
		t.pids = map[int]struct{}{}
	}
	t.pids[pid] = struct{}{}
}

func (t *total) summary() view.Summary {
	s := view.Summary{
		Nodes: t.nodes, UnreadableNodes: t.unreadable, StaleNodes: t.silent, GPUs: t.gpus,
		Healthy: t.health[view.HealthOK], Throttled: t.health[view.HealthThrottled], Degraded: t.health[view.HealthDegraded],
		PredictedFailure: t.health[view.HealthPredictedFailure], Failed: t.health[view.HealthFailed], Unknown: t.health[view.HealthUnknown],
		Stale:  t.health[view.HealthStale],
		Memory: t.memory.memory(), Utilization: t.utilization.Value(), Temperature: t.temperature.Value(),
		Power: t.power.value(), PowerLimit: t.limit.value(),
	}
	s.MemoryUtilization = s.Memory.Utilization
	if processes := t.processes + len(t.pids); t.read || processes > 0 {
		s.Processes = &processes
	}
	return s
}

// Utilization returns how busy a device is, of a divided one the mean of the partitions that have it.
func Utilization(g *view.GPU, parts []*view.GPU) *float64 {
	var m Mean
	for _, part := range parts {
		m.Add(part.Utilization.General)
	}
	if v := m.Value(); v != nil {
		return v
	}
	return g.Utilization.General
}

// CoreTemperature returns, in degrees Celsius, what the hottest sensor measures that is not the memory's.
func CoreTemperature(g *view.GPU) *float64 {
	var hottest *float64
	for _, t := range g.Temperatures {
		if t.Sensor != "memory" && t.Celsius != nil && (hottest == nil || *t.Celsius > *hottest) {
			hottest = t.Celsius
		}
	}
	return hottest
}

// Entry returns the value of a key, nil if it is missing.
func Entry(values map[string]float64, key string) *float64 {
	if v, ok := values[key]; ok {
		return &v
	}
	return nil
}

// memory adds up memory. The share in use covers the devices whose total and use are both known.
type memory struct {
	total, used, reserved, free sum
	usedOfKnown, totalOfKnown   sum
}

func (m *memory) add(v *view.Memory) {
	m.total.add(v.Total)
	m.used.add(v.Used)
	m.reserved.add(v.Reserved)
	m.free.add(v.Free)
	if v.Total != nil && v.Used != nil {
		m.usedOfKnown.add(v.Used)
		m.totalOfKnown.add(v.Total)
	}
}

func (m *memory) memory() view.Memory {
	v := view.Memory{Total: m.total.value(), Used: m.used.value(), Reserved: m.reserved.value(), Free: m.free.value()}
	if m.totalOfKnown.sum > 0 {
		share := m.usedOfKnown.sum / m.totalOfKnown.sum
		v.Utilization = &share
	}
	return v
}

// sum adds up what is there.
type sum struct {
	sum   float64
	count int
}

func (s *sum) add(v *float64) {
	if v != nil {
		s.sum += *v
		s.count++
	}
}

// value returns nil if there were no values.
func (s *sum) value() *float64 {
	if s.count == 0 {
		return nil
	}
	v := s.sum
	return &v
}

// Mean is the mean of the values that are there.
type Mean struct{ sum sum }

// Add adds a value. A nil is not counted.
func (m *Mean) Add(v *float64) { m.sum.add(v) }

// Value returns the mean, nil if there were no values.
func (m *Mean) Value() *float64 {
	total := m.sum.value()
	if total == nil {
		return nil
	}
	v := *total / float64(m.sum.count)
	return &v
}
