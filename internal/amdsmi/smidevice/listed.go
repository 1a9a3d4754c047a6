// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Listed is one device as a tool lists it: a GPU, or one partition of it.
type Listed struct {
	Number    int             // the tool's number
	UniqueID  string          // hw.id of the GPU, if it was read
	Address   smitext.Address // its function is the number of the partition
	Partition gpu.Opt[int]    // the number of the partition, if the tool prints it
	Order     int             // the KFD node, by which the kernel numbers devices; used if neither gives the partition
	Profile   string          // SPX, DPX, TPX, QPX, CPX; empty if it was not read
	Device    gpu.Device      // what the tool prints for it, not yet divided between GPU and partition
	Shares    []Share         // of the partitions by number; printed for the first partition
}

// Key identifies the device from read to read: its PCI address, else the unique id of its GPU.
func (e *Listed) Key() string { return cmp.Or(e.Address.String(), e.UniqueID) }

// Share is what a tool prints about one partition under the first one.
type Share struct {
	Utilization [gpu.NumTasks]gpu.Opt[float64]
}

// byGPU groups listed devices by GPU, in the order in which the GPUs first appear.
func byGPU(listed []Listed) [][]Listed {
	result := make([][]Listed, 0, len(listed))
	for i := range listed {
		e := &listed[i]
		place := slices.IndexFunc(result, func(group []Listed) bool { return sameGPU(group, e) })
		if place < 0 {
			place = len(result)
			result = append(result, nil)
		}
		result[place] = append(result[place], *e)
	}
	return result
}

// sameGPU reports whether a listed device is a further partition of a GPU. It is not if a virtual machine shows another GPU as another
// function of one device.
func sameGPU(group []Listed, e *Listed) bool {
	return slices.ContainsFunc(group, func(g Listed) bool {
		switch {
		case g.Address == (smitext.Address{}) || e.Address == (smitext.Address{}):
			return g.UniqueID != "" && g.UniqueID == e.UniqueID
		case g.Address.GPU() != e.Address.GPU():
			return false
		default:
			return g.Address == e.Address || g.UniqueID != "" && g.UniqueID == e.UniqueID ||
				partitioned(g.Profile) || partitioned(e.Profile) ||
				g.Partition.Known() && e.Partition.Known() && g.Partition != e.Partition
		}
	})
}

// gpuAddress returns the address of the GPU to which the listed devices belong.
func gpuAddress(group []Listed) smitext.Address {
	for i := range group {
		if a := group[i].Address; a != (smitext.Address{}) {
			return a.GPU()
		}
	}
	return smitext.Address{}
}

// partitioned reports whether a profile divides the GPU.
func partitioned(profile string) bool { return profile != "" && profile != "SPX" }

// partitionNumber returns the number of the partition, as far as the listed device itself shows it.
func (e *Listed) partitionNumber() gpu.Opt[int] {
	if e.Partition.Known() || e.Address == (smitext.Address{}) {
		return e.Partition
	}
	return gpu.Some(int(e.Address.Function))
}

// partitionNumbers sorts the listed devices of one GPU by partition and returns the numbers of the partitions.
func partitionNumbers(group []Listed) []int {
	slices.SortStableFunc(group, func(a, b Listed) int {
		x, _ := a.partitionNumber().Or(gpu.Some(math.MaxInt)).Get()
		y, _ := b.partitionNumber().Or(gpu.Some(math.MaxInt)).Get()
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Number, b.Number))
	})
	result := make([]int, len(group))
	distinct := true
	for i := range group {
		n, known := group[i].partitionNumber().Get()
		result[i] = n
		distinct = distinct && known && (i == 0 || n != result[i-1])
	}
	if !distinct {
		// All partitions have the address of the first, and are listed in the order of their numbers.
		for i := range result {
			result[i] = i
		}
	}
	return result
}
