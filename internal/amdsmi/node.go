// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// nodeBuilder makes the node, and keeps what later reads need for it.
type nodeBuilder struct {
	smidevice.Builder

	want        gpu.Group
	residencies map[string]*residency // of throttle reasons, by PCI address, else by unique id
	links       map[string]*linkBytes // likewise
	scale       memoryScale
}

// fill makes the node from the listed devices and what was read of them. It reports whether any of them is identified.
func (b *nodeBuilder) fill(list []listRecord, static map[int]staticInfo, answers map[step]answer, version int) bool {
	listed := make([]smidevice.Listed, 0, len(list))
	places := make(map[int]int, len(list)) // the place in listed, by amd-smi's number
	truncated := answers[stepList].err != nil
	unaddressed, complete := 0, !truncated
	for i := range list {
		e := listedDevice(&list[i], static[list[i].index])
		if e.Address == (smitext.Address{}) {
			unaddressed++
			if e.UniqueID == "" {
				complete = false
				b.Problem(gpu.ProblemQuantity, "identity", fmt.Errorf("amd-smi shows neither a unique id nor a PCI address of GPU %d; the GPU is left out", e.Number))
				continue
			}
		}
		places[e.Number] = len(listed)
		listed = append(listed, e)
	}
	if unaddressed > 0 {
		b.Problem(gpu.ProblemQuantity, "PCI address", fmt.Errorf("%w to open the DRM devices: amd-smi shows no PCI address of %d GPUs; "+
			"run the tool as a member of the groups render and video, and give a container /dev/dri", smitext.ErrAccess, unaddressed))
	}
	if len(listed) == 0 {
		b.Energy.Missed(b.Node.Time)
		return false
	}
	each := func(records []record, f func(record, *smidevice.Listed)) {
		for _, r := range records {
			if index, ok := r.integer("gpu"); ok {
				if i, known := places[index]; known {
					f(r, &listed[i])
				}
			}
		}
	}
	metrics := answers[stepMetric].records
	each(metrics, func(r record, e *smidevice.Listed) {
		e.Shares = readMetric(r, &e.Device)
		readDetails(r, b.want, &e.Device)
		if static[e.Number].unified {
			e.Device.Power = gpu.Power{Module: e.Device.Power.Draw} // of the package, with the CPU
		}
		if static[e.Number].withoutRAS {
			dropZeroErrors(&e.Device)
		}
		if message := unreachable(r); message != "" {
			e.Device.AddFault(gpu.FaultUnreachable, message)
		}
	})
	b.throttleTime(metrics, each)
	each(answers[stepPCIe].records, func(r record, e *smidevice.Listed) { readPCIe(r, &e.Device) })
	last := b.links
	b.links = make(map[string]*linkBytes, len(last))
	for i := range listed {
		key := listed[i].Key()
		if b.links[key] = last[key]; b.links[key] == nil {
			b.links[key] = &linkBytes{}
		}
	}
	wantLinks := b.want
	if answers[stepXGMI].err != nil {
		wantLinks &^= gpu.GroupInterconnectSpeed // of links that are up: the states come last
	}
	each(joined(answers[stepXGMI].records), func(r record, e *smidevice.Listed) { readXGMI(r, wantLinks, &e.Device, b.links[e.Key()]) })

	leaves := b.List(listed, complete)
	if truncated {
		// The list ended early: it may lack partitions of the last GPU, so whether that is divided is not known.
		delete(leaves, listed[len(listed)-1].Number)
	}
	b.addProcesses(answers, len(list), leaves, static, version)
	if truncated {
		for i := range b.Node.Devices {
			b.Node.Devices[i].ProcessesUnread = true
		}
	}
	b.AddUnlisted(complete)
	return true
}

// addProcesses adds the processes. version is the first number of the version of the library.
func (b *nodeBuilder) addProcesses(answers map[step]answer, devices int, leaves map[int]smidevice.Leaf, static map[int]staticInfo, version int) {
	answer, ran := answers[stepProcess]
	list, covered := parseProcesses(answer.records)
	b.scale.correct(list, version)
	for i := range list {
		if !static[list[i].index].unified {
			list[i].system = gpu.Opt[int64]{} // a buffer for transfers, which is small on a GPU with its own memory
		}
	}
	var repeated int
	b.Node.Processes, repeated = placeProcesses(list, devices, covered, leaves, version >= exactProcesses)
	for i := range b.Node.Devices {
		b.Node.Devices[i].ProcessesUnread = !ran || answer.err != nil || repeated > 0
	}
	if repeated > 0 {
		b.Problem(gpu.ProblemProcesses, "processes", fmt.Errorf("amd-smi before ROCm 10 lists %d processes under every GPU with the same memory; "+
			"the processes are left out; the amdgpu scraper shows which GPU they use", repeated))
	}
}

// throttleTime adds up how long each reason held the clocks down.
func (b *nodeBuilder) throttleTime(metrics []record, each func([]record, func(record, *smidevice.Listed))) {
	last := b.residencies
	b.residencies = make(map[string]*residency, len(last))
	each(metrics, func(r record, e *smidevice.Listed) {
		counts, ok := countsOf(r.section("throttle"))
		if !ok {
			return
		}
		key := e.Key()
		if b.residencies[key] = last[key]; b.residencies[key] == nil {
			b.residencies[key] = &residency{}
		}
		b.residencies[key].read(&counts, b.Node.Time, &e.Device)
	})
}

// listedDevice combines what list and static print about a device.
func listedDevice(l *listRecord, static staticInfo) smidevice.Listed {
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
	e.Device.Index, e.Device.CurrentIndex = gpu.Some(l.index), gpu.Some(l.index)
	if static.exhausted {
		e.Device.AddFault(gpu.FaultBadPageThreshold, "more bad memory pages than the driver's threshold")
	}
	return e
}
