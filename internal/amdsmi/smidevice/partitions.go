// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// GPU is one physical GPU as a tool lists it.
type GPU struct {
	devices []gpu.Device // the GPU, if its first partition is listed, and its partitions
	numbers []int        // the tool's number of each device
}

func (g *GPU) add(number int, d gpu.Device) {
	g.devices, g.numbers = append(g.devices, d), append(g.numbers, number)
}

// addLeaves adds the devices on which processes run, by the tool's numbers. The first partition takes the place of its GPU, which has the
// same number.
func (g *GPU) addLeaves(leaves map[int]Leaf) {
	for i := range g.devices {
		d := &g.devices[i]
		if d.ID != "" || d.Info.PCIAddress != "" {
			leaves[g.numbers[i]] = Leaf{ID: d.ID, At: d.Location()}
		}
	}
}

// Leaf is the device on which a process runs.
type Leaf struct {
	ID string // empty if it was not read
	At gpu.Location
}

// Process returns a process on the device.
func (l Leaf) Process(pid int64) gpu.Process {
	if l.ID != "" {
		return gpu.Process{PID: pid, DeviceID: l.ID, Type: gpu.ProcessCompute}
	}
	return gpu.Process{PID: pid, Location: l.At, Type: gpu.ProcessCompute}
}

// GPUs returns the GPUs of listed devices. The listed devices of one GPU become that GPU, with the values of the package, and a device for
// each partition with its own values.
//
// If the unique id of a GPU was not read, it and its partitions have no ID and no Parent; gpu.Node.CompleteIDs completes them.
func GPUs(listed []Listed) []GPU {
	all := byGPU(listed)
	result := make([]GPU, 0, len(all))
	for _, group := range all {
		result = append(result, gpuOf(group))
	}
	return result
}

// gpuOf returns the GPU of its listed devices.
func gpuOf(group []Listed) (g GPU) {
	n := partitionNumbers(group)
	first := &group[0]
	place := gpuAddress(group).String()
	divided := len(group) > 1 || partitioned(first.Profile)
	if n[0] == 0 || !divided {
		first.Device.ID = first.UniqueID
		first.Device.Info.Profile = first.Profile
		first.Device.Info.PCIAddress = place
		if !divided {
			first.Device.Info.PCIAddress = first.Address.String()
		}
		g.add(first.Number, first.Device)
	}
	if !divided {
		return g
	}
	for i := range group {
		g.add(group[i].Number, partition(first, &group[i], n[i], place, n[0] == 0))
	}
	var whole gpu.Opt[int64]
	if n[0] == 0 {
		whole = first.Device.Memory.Usage
	}
	gpu.DropRepeatedUsage(whole, g.devices[len(g.devices)-len(group):])
	return g
}

// partition returns the device of one partition. What the tools print for partition 0 is about the whole package. What they print about
// the power, temperature and the like of others is the package's, too (until ROCm 6.4.0), or nothing.
func partition(first, e *Listed, n int, place string, listed bool) gpu.Device {
	d := gpu.Device{
		Name:      e.Device.Name,
		Model:     e.Device.Model,
		Vendor:    gpu.AMD,
		Index:     e.Device.Index,
		Aliases:   e.Device.Aliases,
		Partition: gpu.Some(n),

		CurrentIndex: e.Device.CurrentIndex,
		Info: gpu.Info{
			DriverVersion:     e.Device.Info.DriverVersion,
			PCIAddress:        place,
			Profile:           first.Profile,
			ComputeCapability: cmp.Or(e.Device.Info.ComputeCapability, first.Device.Info.ComputeCapability),
			NUMANode:          first.Device.Info.NUMANode,
			Architecture:      cmp.Or(e.Device.Info.Architecture, first.Device.Info.Architecture),
			MemoryPartition:   first.Device.Info.MemoryPartition,
		},
	}
	if unique := first.UniqueID; unique != "" {
		d.ID, d.Parent = unique+"/"+strconv.Itoa(n), unique
	}
	if d.Model == "" {
		d.Model = first.Device.Model
	}
	if n == 0 && place != "" {
		// An allocation that names the GPU's address means its first partition.
		d.Aliases = append(slices.Clone(d.Aliases), place)
	}
	if n < len(first.Shares) {
		d.Utilization = first.Shares[n].Utilization
	}
	// Several versions print the package's memory for all partitions. A partition's own is smaller.
	whole, _ := first.Device.Memory.Limit.Get()
	if own, ok := e.Device.Memory.Limit.Get(); ok && (own < whole || !listed) {
		d.Memory.Limit, d.Memory.Usage = e.Device.Memory.Limit, e.Device.Memory.Usage
	}
	return d
}
