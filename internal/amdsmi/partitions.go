// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// listedGPU is one physical GPU as a tool lists it.
type listedGPU struct {
	devices []gpu.Device // the GPU, where its first partition is listed, and its partitions
	numbers []int        // the tool's number of each device
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

// gpusOf makes the GPUs of the entries. Entries of one GPU become that GPU, with the readings of the package, and a device for each
// partition with what is its own.
//
// Where the unique id of a GPU was not read, it and its partitions have no ID and no Parent; gpu.Node.CompleteIDs completes
// them.
func gpusOf(entries []entry) []listedGPU {
	all := groups(entries)
	result := make([]listedGPU, 0, len(all))
	for _, group := range all {
		result = append(result, gpuOf(group))
	}
	return result
}

// gpuOf makes one GPU of its entries.
func gpuOf(group []entry) (g listedGPU) {
	n := numbers(group)
	first := &group[0]
	place := board(group).String()
	divided := len(group) > 1 || partitioned(first.profile)
	if n[0] == 0 || !divided {
		first.device.ID = first.unique
		first.device.Info.Profile = first.profile
		first.device.Info.PCIAddress = place
		if !divided {
			first.device.Info.PCIAddress = first.address.String()
		}
		g.add(first.index, first.device)
	}
	if !divided {
		return g
	}
	for i := range group {
		g.add(group[i].index, partition(first, &group[i], n[i], place, n[0] == 0))
	}
	return g
}

func (g *listedGPU) add(number int, d gpu.Device) {
	g.devices, g.numbers = append(g.devices, d), append(g.numbers, number)
}

// addLeaves adds the devices on which processes run, by the tool's numbers. A partition's number is its GPU's too where it is the first.
func (g *listedGPU) addLeaves(leaves map[int]leaf) {
	for i := range g.devices {
		d := &g.devices[i]
		if d.ID != "" || d.Info.PCIAddress != "" {
			leaves[g.numbers[i]] = leaf{id: d.ID, at: d.Location()}
		}
	}
}

// partition makes the device of one partition. The entry of partition 0, where it is listed, speaks for the whole package;
// what others show of power, temperatures and the like is the package's too (until ROCm 6.4.0) or nothing.
func partition(first, e *entry, n int, place string, listed bool) gpu.Device {
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
	if unique := first.unique; unique != "" {
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
