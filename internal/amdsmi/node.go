// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fill makes the node from the listed devices and what was read of them.
func (s *Source) fill(metrics []record, answers map[step]answer, complete bool) {
	listed := make([]smidevice.Listed, 0, len(s.listed))
	at := make(map[int]int, len(s.listed)) // the place in listed, by amd-smi's number
	unaddressed, truncated := 0, !complete
	for i := range s.listed {
		e := s.listedDevice(&s.listed[i])
		if e.Address == (smitext.Address{}) {
			unaddressed++
			if e.UniqueID == "" {
				complete = false
				s.problem(gpu.ProblemQuantity, "identity", fmt.Errorf("amd-smi shows neither a unique id nor a PCI address of GPU %d; the GPU is left out", e.Number))
				continue
			}
		}
		at[e.Number] = len(listed)
		listed = append(listed, e)
	}
	if unaddressed > 0 {
		s.problem(gpu.ProblemQuantity, "PCI address", fmt.Errorf("%w to open the DRM devices: amd-smi shows no PCI address of %d GPUs; "+
			"run as a member of the groups render and video, with /dev/dri", smitext.ErrAccess, unaddressed))
	}
	each := func(records []record, f func(record, *smidevice.Listed)) {
		for _, r := range records {
			if index, ok := r.integer("gpu"); ok {
				if i, known := at[index]; known {
					f(r, &listed[i])
				}
			}
		}
	}
	each(metrics, func(r record, e *smidevice.Listed) { e.Shares = readMetric(r, &e.Device) })
	s.throttleTime(metrics, each)
	each(answers[stepPCIe].records, func(r record, e *smidevice.Listed) { readPCIe(r, &e.Device) })
	links := s.want.Has(gpu.GroupInterconnectLinks)
	each(answers[stepXGMI].records, func(r record, e *smidevice.Listed) { readXGMI(r, &e.Device, links) })

	s.known.IDs.Complete(listed, complete)
	leaves := s.known.List(&s.node, smidevice.GPUs(listed))
	s.energy.Unwrap(s.node.Devices, s.node.Time)
	s.energy.Missed(s.node.Time)
	if truncated && len(listed) > 0 {
		// The list ended early: it may lack partitions of the last GPU, so whether that is divided is not known.
		delete(leaves, listed[len(listed)-1].Number)
	}
	list, covered := parseProcesses(answers[stepProcess].records)
	s.scale.correct(list, major(s.version))
	var repeated int
	s.node.Processes, repeated = placeProcesses(list, len(s.listed), covered, leaves, major(s.version) >= exactProcesses)
	process, ran := answers[stepProcess]
	for i := range s.node.Devices {
		s.node.Devices[i].ProcessesUnread = !ran || process.err != nil || repeated > 0 || truncated
	}
	if repeated > 0 {
		s.problem(gpu.ProblemProcesses, "processes", fmt.Errorf("amd-smi before ROCm 10 lists %d processes under every GPU with the same memory: "+
			"they are left out; the amdgpu scraper tells which GPU they use", repeated))
	}
	if complete {
		s.known.AddLost(&s.node)
	}
}

// throttleTime adds up how long each reason held the clocks down.
func (s *Source) throttleTime(metrics []record, each func([]record, func(record, *smidevice.Listed))) {
	last := s.residencies
	s.residencies = make(map[string]*counter.Residency, len(last))
	each(metrics, func(r record, e *smidevice.Listed) {
		looks, ok := looksOf(r.section("throttle"))
		if !ok {
			return
		}
		key := cmp.Or(e.Address.String(), e.UniqueID)
		residency := last[key]
		if residency == nil {
			residency = &counter.Residency{}
		}
		s.residencies[key] = residency
		for i, limiter := range residency.Read(looks, s.node.Time) {
			e.Device.Throttle[violations[i].reason].Time = limiter.Time
		}
	})
}

// listedDevice combines what list and static print about a device.
func (s *Source) listedDevice(l *listRecord) smidevice.Listed {
	static := s.static[l.index]
	e := smidevice.Listed{
		Number:    l.index,
		UniqueID:  cmp.Or(l.unique, static.unique),
		Address:   l.address,
		Partition: l.partition.Or(static.partition),
		Order:     l.order,
		Profile:   static.profile,
		Device:    static.device,
	}
	if e.Address == (smitext.Address{}) {
		e.Address = static.address
	}
	e.Device.Vendor = gpu.AMD
	e.Device.Name = l.name
	e.Device.Aliases = l.aliases
	e.Device.Index = gpu.Some(l.index)
	if static.exhausted {
		e.Device.AddFault(gpu.FaultRemapFailed, "more bad memory pages than the driver's threshold: replace the GPU")
	}
	return e
}
