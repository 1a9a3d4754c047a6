// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fill makes the node of the devices that were listed.
func (s *AMD) fill(metrics []record, answers map[step]answer, complete bool) {
	entries := make([]entry, 0, len(s.listed))
	at := make(map[int]int, len(s.listed))
	blind, short := 0, !complete
	for i := range s.listed {
		e := s.entry(&s.listed[i])
		if e.address == (address{}) {
			blind++
			if e.unique == "" {
				complete = false
				s.problem(gpu.ProblemQuantity, "identity", fmt.Errorf("amd-smi shows neither a unique id nor a PCI address of GPU %d: it is left out", e.index))
				continue
			}
		}
		at[e.index] = len(entries)
		entries = append(entries, e)
	}
	if blind > 0 {
		s.problem(gpu.ProblemQuantity, "PCI address", fmt.Errorf("%w to open the DRM devices: amd-smi shows no PCI address of %d GPUs; "+
			"run as a member of the groups render and video, with /dev/dri", errAccess, blind))
	}
	each := func(records []record, f func(record, *entry)) {
		for _, r := range records {
			if index, ok := r.integer("gpu"); ok {
				if i, known := at[index]; known {
					f(r, &entries[i])
				}
			}
		}
	}
	each(metrics, func(r record, e *entry) { e.shares = amdMetric(r, &e.device) })
	s.throttleTime(metrics, each)
	each(answers[stepPCIe].records, func(r record, e *entry) { amdPCIe(r, &e.device) })
	links := s.want.Has(gpu.GroupInterconnectLinks)
	each(answers[stepXGMI].records, func(r record, e *entry) { amdXGMI(r, &e.device, links) })

	s.known.ids.complete(entries, complete)
	leaves := s.known.list(&s.node, gpusOf(entries))
	s.energy.unwrap(s.node.Devices, s.node.Time)
	s.energy.missed(s.node.Time)
	if short && len(entries) > 0 {
		// Where the list ended early, partitions of the last GPU may be missing in it, and it is not known whether it is divided.
		delete(leaves, entries[len(entries)-1].index)
	}
	list, told := parseProcesses(answers[stepProcess].records)
	s.learnScale(list)
	var repeated int
	s.node.Processes, repeated = placeProcesses(list, len(s.listed), told, leaves, major(s.version) >= exactProcesses)
	process, ran := answers[stepProcess]
	for i := range s.node.Devices {
		s.node.Devices[i].ProcessesUnread = !ran || process.err != nil || repeated > 0 || short
	}
	if repeated > 0 {
		s.problem(gpu.ProblemProcesses, "processes", fmt.Errorf("amd-smi before ROCm 10 lists %d processes under every GPU with the same memory: "+
			"they are left out; the amdgpu scraper tells which GPU they use", repeated))
	}
	if complete {
		s.known.addLost(&s.node)
	}
}

// throttleTime adds up the times for which the clocks were held down.
func (s *AMD) throttleTime(metrics []record, each func([]record, func(record, *entry))) {
	last := s.residencies
	s.residencies = make(map[string]*counter.Residency, len(last))
	each(metrics, func(r record, e *entry) {
		looks, ok := looksOf(r.section("throttle"))
		if !ok {
			return
		}
		key := cmp.Or(e.address.String(), e.unique)
		residency := last[key]
		if residency == nil {
			residency = &counter.Residency{}
		}
		s.residencies[key] = residency
		for i, limiter := range residency.Read(looks, s.node.Time) {
			e.device.Throttle[violations[i].reason].Time = limiter.Time
		}
	})
}

// entry makes an entry of a listed device, with what is known of it from earlier.
func (s *AMD) entry(l *amdListed) entry {
	static := s.static[l.index]
	e := entry{
		index:     l.index,
		unique:    cmp.Or(l.unique, static.unique),
		address:   l.address,
		partition: l.partition.Or(static.partition),
		order:     l.order,
		profile:   static.profile,
		device:    static.device,
	}
	if e.address == (address{}) {
		e.address = static.address
	}
	e.device.Vendor = gpu.AMD
	e.device.Name = l.name
	e.device.Aliases = l.aliases
	e.device.Index = gpu.Some(l.index)
	if static.exhausted {
		e.device.AddFault(gpu.FaultRemapFailed, "more bad memory pages than the driver's threshold: the board must be replaced")
	}
	return e
}
