// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// shower makes the form of one node.
type shower struct {
	fields  *fields
	numbers numberPool
	node    *node
	seen    func(time.Duration) time.Time
}

// gpu returns the form of a device, without what its partitions and its parent have.
func (s *shower) gpu(d *device) *view.GPU {
	g := &view.GPU{
		ID: d.id, Parent: d.parent, Node: s.node.key.name, Cluster: s.node.cluster, Index: d.index, Name: d.name, Vendor: d.vendor, Model: d.model,
		PCIAddress: d.pciAddress, SerialNumber: d.serial, DriverVersion: d.driver, FirmwareVersion: d.firmware, ComputeCapability: d.capability,
		PartitionProfile: d.profile, NUMANode: d.numaNode, LastSeen: s.seen(d.seen),
		Faults: []string{}, Temperatures: []view.Temperature{}, Fans: []view.Fan{}, Throttled: []string{}, Interconnects: []view.Interconnect{},
		RemapStates: []string{}, Fabric: view.Fabric{Conditions: []string{}}, PendingModes: []string{}, Containers: s.containers(d), Processes: s.processes(d),
	}
	for f, value := range d.values {
		key := s.fields.key(f)
		s.state(g, key, value)
		s.quantity(g, key, value)
		s.link(g, key, value)
	}
	s.memory(&g.Memory)
	if g.Power.Watts != nil && g.Power.Limit != nil && *g.Power.Limit > 0 {
		g.Power.Utilization = s.numbers.float(*g.Power.Watts / *g.Power.Limit)
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
		&g.Margins, &g.Clocks, &g.ThrottleTimes, &g.Errors, &g.XIDs, &g.RemappedRows, &g.RetiredPages, &g.MemoryBanks, &g.PCIe.Errors, &g.PCIe.PortErrors,
	} {
		if *m == nil {
			*m = map[string]float64{}
		}
	}
	return g
}

// state sets what is a state, not a quantity.
func (s *shower) state(g *view.GPU, key *fieldKey, value float64) {
	label := key.labels[0]
	switch {
	case key.metric == deviceAllocated:
		g.Allocated = s.numbers.int(value)
	case value != 1: // the others are 1 for what holds now
	case key.metric == deviceStatus:
		g.Status = &key.labels[0]
	case key.metric == deviceFault:
		g.Faults = append(g.Faults, label)
	case key.metric == deviceRecovery:
		g.RecoveryAction = &key.labels[0]
	case key.metric == throttled:
		g.Throttled = append(g.Throttled, label)
	case key.metric == remapState:
		g.RemapStates = append(g.RemapStates, label)
	case key.metric == fabricState:
		g.Fabric.State = &key.labels[0]
	case key.metric == fabricCondition:
		g.Fabric.Conditions = append(g.Fabric.Conditions, label)
	case key.metric == modePending:
		g.PendingModes = append(g.PendingModes, label)
	}
}

// quantity sets what is measured or counted of the device itself.
func (s *shower) quantity(g *view.GPU, key *fieldKey, value float64) {
	label := key.labels[0]
	switch key.metric {
	case deviceUtilization:
		if to := task(&g.Utilization, label); to != nil {
			*to = s.numbers.float(value)
		}
	case memoryController:
		g.Utilization.MemoryController = s.numbers.float(value)
	case memoryLimit:
		g.Memory.Total = s.numbers.float(value)
	case memoryUsage:
		g.Memory.Used = s.numbers.float(value)
	case memoryReserved:
		g.Memory.Reserved = s.numbers.float(value)
	case temperature:
		sensor(g, label).Celsius = s.numbers.float(value)
	case temperatureLimit:
		sensor(g, label).Limits[key.labels[1]] = value
	case temperatureMargin:
		put(&g.Margins, label, value)
	case power:
		g.Power.Watts = s.numbers.float(value)
	case powerLimit:
		switch label {
		case "enforced":
			g.Power.Limit = s.numbers.float(value)
		case "max":
			g.Power.MaxLimit = s.numbers.float(value)
		}
	case energy:
		g.Power.Energy = s.numbers.float(value)
	case clock:
		put(&g.Clocks, label, value)
	case performanceState:
		g.PerformanceState = s.numbers.int(value)
	case fanSpeed:
		g.Fans = append(g.Fans, view.Fan{Sensor: label, Speed: value})
	case throttleTime:
		put(&g.ThrottleTimes, label, value)
	case memoryErrors: // AMD counts by block, NVIDIA has one
		put(&g.Errors, label, g.Errors[label]+value)
	case xids:
		put(&g.XIDs, label, value)
	case rowsRemapped:
		put(&g.RemappedRows, label, value)
	case pagesRetired:
		put(&g.RetiredPages, label, value)
	case memoryBanks:
		put(&g.MemoryBanks, label, value)
	case badPages:
		g.BadPages.Count = s.numbers.float(value)
	case badPageLimit:
		g.BadPages.Limit = s.numbers.float(value)
	}
}

// link sets what is of the links to the machine and to other devices.
func (s *shower) link(g *view.GPU, key *fieldKey, value float64) {
	label := key.labels[0]
	switch key.metric {
	case pcieGeneration:
		g.PCIe.Generation = s.numbers.int(value)
	case pcieGenerationLimit:
		g.PCIe.MaxGeneration = s.numbers.int(value)
	case pcieWidth:
		g.PCIe.Width = s.numbers.int(value)
	case pcieWidthLimit:
		g.PCIe.MaxWidth = s.numbers.int(value)
	case pcieReplays:
		g.PCIe.Replays = s.numbers.float(value)
	case pcieIO:
		if to := direction(label, &g.PCIe.Transmitted, &g.PCIe.Received); to != nil {
			*to = s.numbers.float(value)
		}
	case interconnectIO:
		of := interconnect(g, label)
		if to := direction(key.labels[1], &of.Transmitted, &of.Received); to != nil {
			*to = s.numbers.float(value)
		}
	case interconnectErrors:
		interconnect(g, label).Errors[key.labels[1]] = value
	case interconnectLinks:
		switch of := interconnect(g, label); key.labels[1] {
		case "up":
			of.LinksUp = s.numbers.int(value)
		case "down":
			of.LinksDown = s.numbers.int(value)
		}
	case pcieErrors:
		switch key.labels[1] {
		case "gpu":
			put(&g.PCIe.Errors, label, value)
		case "port":
			put(&g.PCIe.PortErrors, label, value)
		}
	}
}

// memory sets what follows from size, use and reserve.
func (s *shower) memory(m *view.Memory) {
	if m.Total == nil || m.Used == nil {
		return
	}
	free := *m.Total - *m.Used
	if m.Reserved != nil {
		free -= *m.Reserved
	}
	m.Free = s.numbers.float(max(free, 0))
	if *m.Total > 0 {
		m.Utilization = s.numbers.float(*m.Used / *m.Total)
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
