// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// arrangement is the devices of a machine and which of them the tool's numbers mean.
type arrangement struct {
	devices []gpu.Device
	leaves  map[int]leaf // by the tool's number: the device on which processes run
	gpus    int64        // physical ones
	clashes []string     // unique ids that a second GPU claims
}

// leaf is the device on which a process runs.
type leaf struct {
	id string // empty where it was not read
	at gpu.Location
}

// process returns a process on the device.
func (l leaf) process(pid int64) gpu.Process {
	if l.id != "" {
		return gpu.Process{PID: pid, DeviceID: l.id, Type: gpu.ProcessCompute}
	}
	return gpu.Process{PID: pid, Location: l.at, Type: gpu.ProcessCompute}
}

// arrange makes the devices of the entries. Entries of one GPU become that GPU, with the readings of the package, and a
// device for each partition with what is its own.
//
// Where the unique id of a GPU was not read, it and its partitions have no ID and no Parent; gpu.Node.CompleteIDs completes
// them.
func arrange(entries []entry) arrangement {
	a := arrangement{
		devices: make([]gpu.Device, 0, len(entries)),
		leaves:  make(map[int]leaf, len(entries)),
	}
	taken := make(map[string]bool, len(entries))
	for _, group := range groups(entries) {
		n := numbers(group)
		unique := group[0].unique
		if unique != "" && taken[unique] {
			// Two GPUs must never become one, whatever their firmware says.
			a.clashes = append(a.clashes, unique)
			unique = ""
		}
		taken[unique] = true
		a.gpus++
		a.add(group, n, unique)
	}
	return a
}

// add adds one GPU.
func (a *arrangement) add(group []entry, n []int, unique string) {
	first := &group[0]
	place := board(group).String()
	divided := len(group) > 1 || partitioned(first.profile)
	if n[0] == 0 || !divided {
		first.device.ID = unique
		first.device.Info.Profile = first.profile
		first.device.Info.PCIAddress = place
		if !divided {
			first.device.Info.PCIAddress = first.address.String()
			a.addLeaf(first.index, &first.device)
		}
		a.devices = append(a.devices, first.device)
	}
	if !divided {
		return
	}
	for i := range group {
		d := partition(first, &group[i], n[i], unique, place, n[0] == 0)
		a.devices = append(a.devices, d)
		a.addLeaf(group[i].index, &d)
	}
}

// addLeaf adds the device on which processes run that the tool lists under a number.
func (a *arrangement) addLeaf(index int, d *gpu.Device) {
	if d.ID != "" || d.Info.PCIAddress != "" {
		a.leaves[index] = leaf{id: d.ID, at: d.Location()}
	}
}

// partition makes the device of one partition. The entry of partition 0, where it is listed, speaks for the whole package;
// what others show of power, temperatures and the like is the package's too (until ROCm 6.4.0) or nothing.
func partition(first, e *entry, n int, unique, place string, listed bool) gpu.Device {
	d := gpu.Device{
		Name:      e.device.Name,
		Model:     e.device.Model,
		Vendor:    gpu.AMD,
		Index:     e.device.Index,
		Aliases:   e.device.Aliases,
		Partition: gpu.Some(n),
		Info: gpu.Info{
			DriverVersion:     e.device.Info.DriverVersion,
			PCIAddress:        place,
			Profile:           first.profile,
			ComputeCapability: cmp.Or(e.device.Info.ComputeCapability, first.device.Info.ComputeCapability),
			NUMANode:          first.device.Info.NUMANode,
		},
	}
	if unique != "" {
		d.ID, d.Parent = unique+"/"+strconv.Itoa(n), unique
	}
	if d.Model == "" {
		d.Model = first.device.Model
	}
	if n == 0 && place != "" {
		// What is allocated by the GPU's address is its first partition.
		d.Aliases = append(slices.Clone(d.Aliases), place)
	}
	if n < len(first.shares) {
		d.Utilization = first.shares[n].utilization
	}
	// A partition's memory is told apart from the package's by its size; several versions print the package's for all.
	whole, _ := first.device.Memory.Limit.Get()
	if own, ok := e.device.Memory.Limit.Get(); ok && (own < whole || !listed) {
		d.Memory.Limit, d.Memory.Usage = e.device.Memory.Limit, e.device.Memory.Usage
	}
	return d
}
