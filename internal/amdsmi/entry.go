// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxDevices bounds what is taken from one output. The largest machines have 16 GPUs of 8 partitions.
const maxDevices = 512

// entry is one device as a tool lists it: a GPU, or one partition of it.
type entry struct {
	index     int          // the tool's number
	unique    string       // hw.id of the GPU, where it was read
	address   address      // its function is the number of the partition
	partition gpu.Opt[int] // the number of the partition, where the tool says it
	order     int          // what the kernel numbers the devices by, where neither tells (KFD node)
	profile   string       // SPX, DPX, TPX, QPX, CPX; empty where it was not read
	device    gpu.Device   // what the entry itself says, not yet divided between GPU and partition
	shares    []share      // of the partitions, by number, which the first one's entry tells
}

// share is what is told of one partition.
type share struct {
	utilization [gpu.NumTasks]gpu.Opt[float64]
}

// groups returns the entries by GPU, in the order in which the GPUs first appear.
func groups(entries []entry) [][]entry {
	result := make([][]entry, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		at := slices.IndexFunc(result, func(group []entry) bool { return related(group, e) })
		if at < 0 {
			at = len(result)
			result = append(result, nil)
		}
		result[at] = append(result[at], *e)
	}
	return result
}

// related tells whether an entry is a further partition of a GPU, and not a GPU of its own that a virtual machine shows as
// another function of one device.
func related(group []entry, e *entry) bool {
	return slices.ContainsFunc(group, func(g entry) bool {
		switch {
		case g.address == (address{}) || e.address == (address{}):
			return g.unique != "" && g.unique == e.unique
		case g.address.board() != e.address.board():
			return false
		default:
			return g.address == e.address || g.unique != "" && g.unique == e.unique ||
				partitioned(g.profile) || partitioned(e.profile) ||
				g.partition.Known() && e.partition.Known() && g.partition != e.partition
		}
	})
}

// board returns the address of the GPU that the entries are of.
func board(group []entry) address {
	for i := range group {
		if a := group[i].address; a != (address{}) {
			return a.board()
		}
	}
	return address{}
}

// partitioned tells whether a profile divides the GPU.
func partitioned(profile string) bool { return profile != "" && profile != "SPX" }

// number returns the number of the partition that an entry stands for, as far as the entry itself tells.
func (e *entry) number() gpu.Opt[int] {
	if e.partition.Known() || e.address == (address{}) {
		return e.partition
	}
	return gpu.Some(int(e.address.function))
}

// numbers sorts the entries of one GPU by partition and returns the partitions' numbers.
func numbers(group []entry) []int {
	slices.SortStableFunc(group, func(a, b entry) int {
		x, _ := a.number().Or(gpu.Some(math.MaxInt)).Get()
		y, _ := b.number().Or(gpu.Some(math.MaxInt)).Get()
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.order, b.order), cmp.Compare(a.index, b.index))
	})
	result := make([]int, len(group))
	distinct := true
	for i := range group {
		n, known := group[i].number().Get()
		result[i] = n
		distinct = distinct && known && (i == 0 || n != result[i-1])
	}
	if !distinct {
		// All partitions bear the address of the first: they are listed in the order of their numbers.
		for i := range result {
			result[i] = i
		}
	}
	return result
}
