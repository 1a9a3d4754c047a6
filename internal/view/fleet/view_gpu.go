// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// renderer builds the view of one node.
type renderer struct {
	fields    *fields
	node      *node
	empty     map[string]float64 // never filled
	clockTime func(time.Duration) time.Time

	idleThreshold float64
	idleAfter     time.Duration
}

// gpu returns the view of a device, without what its partitions and its parent have.
func (s *renderer) gpu(d *device) *view.GPU {
	g := &view.GPU{
		ID: d.id, Parent: d.parent, Node: s.node.key.name, Cluster: s.node.cluster, Index: d.index, Name: d.name, Vendor: d.vendor, Model: d.model,
		PCIAddress: d.pciAddress, SerialNumber: d.serial, DriverVersion: d.driver, FirmwareVersion: d.firmware, ComputeCapability: d.capability,
		PartitionProfile: d.profile, NUMANode: d.numaNode, LastSeen: s.clockTime(d.lastUpdate),
		Faults: []string{}, Temperatures: []view.Temperature{}, Fans: []view.Fan{}, Throttled: []string{}, Interconnects: []view.Interconnect{},
		RemapStates: []string{}, Fabric: view.Fabric{Conditions: []string{}}, PendingModes: []string{}, Processes: s.processes(d),
	}
	for f, value := range d.values {
		if key := s.fields.key(f); key.metric.onGPU != nil {
			key.metric.onGPU(g, key, value)
		}
	}
	g.Containers = s.containers(d, g)
	derive(&g.Memory)
	if g.Power.Watts != nil && g.Power.Limit != nil && *g.Power.Limit > 0 {
		g.Power.Utilization = floatOf(*g.Power.Watts / *g.Power.Limit)
	}
	slices.Sort(g.Faults)
	slices.Sort(g.Throttled)
	slices.Sort(g.RemapStates)
	slices.Sort(g.Fabric.Conditions)
	slices.Sort(g.PendingModes)
	slices.SortFunc(g.Temperatures, func(a, b view.Temperature) int { return cmp.Compare(a.Sensor, b.Sensor) })
	slices.SortFunc(g.Fans, func(a, b view.Fan) int { return cmp.Compare(a.Sensor, b.Sensor) })
	slices.SortFunc(g.Interconnects, func(a, b view.Interconnect) int { return cmp.Compare(a.Type, b.Type) })
	for _, m := range []*map[string]float64{
		&g.Margins, &g.Clocks, &g.ClockLimits, &g.ThrottleTimes, &g.Errors, &g.XIDs, &g.RemappedRows, &g.RetiredPages, &g.MemoryBanks, &g.PCIe.Errors, &g.PCIe.PortErrors,
	} {
		if *m == nil {
			*m = s.empty
		}
	}
	return g
}

// derive sets what follows from size, use and reserve.
func derive(m *view.Memory) {
	if m.Total == nil || m.Used == nil {
		return
	}
	free := *m.Total - *m.Used
	if m.Reserved != nil {
		free -= *m.Reserved
	}
	m.Free = floatOf(max(free, 0))
	if *m.Total > 0 {
		m.Utilization = floatOf(*m.Used / *m.Total)
	}
}

func task(u *view.Utilization, name string) **float64 {
	switch name {
	case "general":
		return &u.General
	case "encoder":
		return &u.Encoder
	case "decoder":
		return &u.Decoder
	case "jpeg":
		return &u.JPEG
	case "optical_flow":
		return &u.OpticalFlow
	}
	return nil
}

func direction(name string, transmitted, received **float64) **float64 {
	switch name {
	case "transmit":
		return transmitted
	case "receive":
		return received
	}
	return nil
}

func list(target *[]string, label *string) {
	if label != nil {
		*target = append(*target, *label)
	}
}

func put(m *map[string]float64, label string, value float64) {
	if *m == nil {
		*m = map[string]float64{}
	}
	(*m)[label] = value
}

func sensor(g *view.GPU, name string) *view.Temperature {
	for i := range g.Temperatures {
		if g.Temperatures[i].Sensor == name {
			return &g.Temperatures[i]
		}
	}
	g.Temperatures = append(g.Temperatures, view.Temperature{Sensor: name, Limits: map[string]float64{}})
	return &g.Temperatures[len(g.Temperatures)-1]
}

func interconnect(g *view.GPU, name string) *view.Interconnect {
	for i := range g.Interconnects {
		if g.Interconnects[i].Type == name {
			return &g.Interconnects[i]
		}
	}
	g.Interconnects = append(g.Interconnects, view.Interconnect{Type: name, Errors: map[string]float64{}})
	return &g.Interconnects[len(g.Interconnects)-1]
}

// floatOf returns nil if v is not a number: a quotient of absurd numbers.
func floatOf(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// intOf returns nil if v is not a whole number that a count, a number of lanes or a state could be.
func intOf(v float64) *int {
	if v < 0 || v > math.MaxInt32 || v != math.Trunc(v) {
		return nil
	}
	whole := int(v)
	return &whole
}
