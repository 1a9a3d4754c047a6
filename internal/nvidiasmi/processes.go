// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

func (r *Reader) readApps(s *sweep, results []command.Result, i int, ranErr error) {
	if i < 0 {
		return
	}
	if i >= len(results) {
		r.problem(gpu.ProblemProcesses, "", "processes", fmt.Errorf("nvidia-smi --query-compute-apps: %w", ranErr))
		return
	}
	lines, whole := results[i].Lines()
	apps, found, dropped := parse.ComputeApps(lines, appColumns())
	switch {
	case !found:
		d := parse.Diagnose(results[i].Stdout, results[i].Stderr, results[i].ExitCode)
		r.problem(gpu.ProblemProcesses, "", "processes", fmt.Errorf("nvidia-smi --query-compute-apps: %s", firstOf(d.Message, "no table in its output")))
	case !whole:
		r.problem(gpu.ProblemProcesses, "", "processes", fmt.Errorf("nvidia-smi --query-compute-apps: %w", errEndsEarly))
	}
	if dropped > 0 {
		r.problem(gpu.ProblemQuantity, "", "process rows", fmt.Errorf("nvidia-smi --query-compute-apps: %d rows cannot be read or are too many", dropped))
	}
	s.apps, s.appsRead = apps, found && whole
}

func (r *Reader) readPmon(s *sweep, results []command.Result, i int, ranErr error) {
	if i < 0 {
		return
	}
	if i >= len(results) {
		r.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("nvidia-smi pmon: %w", ranErr))
		return
	}
	lines, whole := results[i].Lines()
	m, err := parse.Pmon(lines)
	switch {
	case err != nil:
		d := parse.Diagnose(results[i].Stdout, results[i].Stderr, results[i].ExitCode)
		switch refused := d.Failure == parse.FailureUnsupported || d.Failure == parse.FailureUsage; {
		case unwell(s) && !s.retryPmon: // one bad GPU makes it refuse all
			s.retryPmon = true
			return
		case refused && !unwell(s):
			r.pmon.refused, r.pmon.driver = d.Message, s.log.DriverVersion
			r.pmon.again.later(r.node.Time)
			return // told with every read, by assemble
		}
		r.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("nvidia-smi pmon: %s", firstOf(d.Message, err.Error())))
	case !whole:
		m.GPUs = nil // a process that is not there may have been cut off
		r.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("nvidia-smi pmon: %w", errEndsEarly))
	}
	if err == nil {
		r.pmon = pmonState{}
	}
	if d := parse.Diagnose(results[i].Stdout, results[i].Stderr, 0); d.Failure == parse.FailureUnsupported {
		s.leftOut = d.Message
	}
	if m.Dropped > 0 {
		r.problem(gpu.ProblemQuantity, "", "process rows", fmt.Errorf("nvidia-smi pmon: %d rows cannot be read or are too many", m.Dropped))
	}
	s.pmon = m
}

// askPmonAgain asks for the GPUs that are well, where pmon has refused because of one that is not.
func (r *Reader) askPmonAgain(ctx context.Context, s *sweep) {
	if !s.retryPmon {
		return
	}
	var well selection
	for i := range s.log.GPUs {
		d := &s.log.GPUs[i].Device
		if index, ok := d.Index.Get(); ok && d.State() != gpu.StateFailed {
			well = append(well, index)
		}
	}
	if well == nil {
		return
	}
	results, err := r.runner.Run(ctx, queryPmon(well))
	r.readPmon(s, results, 0, err)
}

// processes puts together what the calls tell of the same process on the same device. The type and the memory are those of
// the listing, as it is exact; pmon has the utilization, and processes that the listing has not.
type processes struct {
	node  *gpu.Node
	at    map[processKey]int
	round int         // counts the sources
	from  map[int]int // in which round a process was added
}

type processKey struct {
	device deviceRef
	pid    int64
}

// deviceRef is how a process names its device: by the ID, or by the location where the ID cannot be read.
type deviceRef struct {
	id string
	at gpu.Location
}

// add takes a process on a device.
func (ps *processes) add(device deviceRef, p *parse.Process) {
	key := processKey{device, p.PID}
	i, ok := ps.at[key]
	if !ok {
		i = len(ps.node.Processes)
		ps.at[key], ps.from[i] = i, ps.round
		ps.node.Processes = append(ps.node.Processes, gpu.Process{PID: p.PID, DeviceID: device.id, Location: device.at})
	}
	to := &ps.node.Processes[i]
	to.Type = both(to.Type, p.Type)
	if to.Executable == "" {
		to.Executable, to.Command = parse.Executable(p.Name)
	}
	if ps.from[i] == ps.round || !to.Memory.Known() {
		to.Memory = larger(to.Memory, p.Memory)
	}
	for t := range p.Utilization {
		to.Utilization[t] = larger(to.Utilization[t], p.Utilization[t])
	}
}

// larger of two readings of one process: it may be listed once for each of its contexts, with all of its memory each time.
func larger[T gpu.Number](a, b gpu.Opt[T]) gpu.Opt[T] {
	x, known := a.Get()
	y, also := b.Get()
	if known && also && x < y {
		return b
	}
	return a.Or(b)
}

// both is the type of a process that is listed with two.
func both(a, b gpu.ProcessType) gpu.ProcessType {
	switch {
	case a == gpu.ProcessUnknown || a == b:
		return b
	case b == gpu.ProcessUnknown:
		return a
	case a == gpu.ProcessMPS || b == gpu.ProcessMPS:
		return gpu.ProcessMPS
	}
	return gpu.ProcessComputeGraphics
}

// addProcesses fills the node's processes. On a GPU with MIG devices a process belongs to one of them, which only the XML
// tells; what pmon shows of one that the XML does not have is left out.
func (r *Reader) addProcesses(s *sweep) {
	if !r.wantsProcesses() {
		return
	}
	ps := &processes{node: &r.node, at: map[processKey]int{}, from: map[int]int{}}
	byIndex, byUUID := map[int64]*parse.GPU{}, map[string]*parse.GPU{}
	for i := range s.log.GPUs {
		g := &s.log.GPUs[i]
		byUUID[g.Device.ID] = g
		if index, ok := g.Device.Index.Get(); ok {
			byIndex[int64(index)] = g
		}
		for j := range g.Processes {
			if leaf := leafOf(g, g.Processes[j].GI, g.Processes[j].CI); leaf != (deviceRef{}) {
				ps.add(leaf, &g.Processes[j])
			}
		}
	}
	for i := range s.apps { // where there is no XML
		if g := byUUID[s.apps[i].UUID]; g != nil && g.Device.ID != "" {
			ps.add(deviceRef{id: g.Device.ID}, &s.apps[i])
		}
	}
	ps.round++
	for i := range s.pmon.Processes {
		p := &s.pmon.Processes[i]
		index, _ := p.Index.Get()
		g := byIndex[index]
		if g == nil || refOf(g) == (deviceRef{}) {
			continue
		}
		if enabled, _ := g.MIGEnabled.Get(); !enabled {
			ps.add(refOf(g), p)
		}
	}
}

// unmonitored tells of GPUs that pmon leaves out although they are well: it has a limit; and of those of whose processes it tells nothing.
func (r *Reader) unmonitored(s *sweep) {
	if len(s.pmon.GPUs) == 0 {
		return
	}
	left, nameless := 0, 0
	for i := range s.log.GPUs {
		g := &s.log.GPUs[i]
		index, known := g.Device.Index.Get()
		enabled, _ := g.MIGEnabled.Get()
		switch {
		case !known || enabled || g.Device.State() == gpu.StateFailed:
		case !s.pmon.GPUs[int64(index)]:
			left++
		case r.unnamed(s, g):
			nameless++
		}
	}
	if nameless > 0 {
		r.problem(gpu.ProblemQuantity, "", "process names", fmt.Errorf("nvidia-smi pmon: the name of a process cannot be read on %d of %d GPUs, and of no process there it "+
			"tells the utilization; run it where the machine's processes can be seen (hostPID: true)", nameless, len(s.log.GPUs)))
	}
	if left > 0 {
		r.problem(gpu.ProblemQuantity, "", "process utilization", fmt.Errorf("nvidia-smi pmon: it leaves out %d of %d GPUs; %s", left, len(s.log.GPUs),
			firstOf(s.leftOut, "set NVSMI_SHOW_ALL_DEVICES=1 where it runs")))
	}
}

// unnamed tells whether a GPU has a process without a name, and pmon has none of its processes.
func (r *Reader) unnamed(s *sweep, g *parse.GPU) bool {
	for i := range s.pmon.Processes {
		if index, ok := s.pmon.Processes[i].Index.Get(); ok && g.Device.Index == gpu.Some(int(index)) {
			return false
		}
	}
	return slices.ContainsFunc(r.node.Processes, func(p gpu.Process) bool {
		return deviceRef{p.DeviceID, p.Location} == refOf(g) && p.Command == ""
	})
}

// refOf returns how a process names a GPU. It is zero where the GPU has neither an ID nor a PCI address.
func refOf(g *parse.GPU) deviceRef {
	if g.Device.ID != "" {
		return deviceRef{id: g.Device.ID}
	}
	return deviceRef{at: gpu.Location{PCIAddress: g.Device.Info.PCIAddress}}
}

// leafOf returns the MIG device with the instance ids, or the GPU's where it has none. Where MIG is on and the
// instance is not told, a GPU with a single MIG device leaves no doubt; else the process has no known device.
func leafOf(g *parse.GPU, gi, ci gpu.Opt[int64]) deviceRef {
	if enabled, _ := g.MIGEnabled.Get(); !enabled && len(g.MIGDevices) == 0 {
		return refOf(g)
	}
	if !gi.Known() && len(g.MIGDevices) == 1 {
		return deviceRef{id: g.MIGDevices[0].UUID}
	}
	for i := range g.MIGDevices {
		if m := &g.MIGDevices[i]; m.GI == gi && (m.CI == ci || !ci.Known()) {
			return deviceRef{id: m.UUID}
		}
	}
	return deviceRef{}
}
