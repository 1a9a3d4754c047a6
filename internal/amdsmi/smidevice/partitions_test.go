// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// partitionAt returns a listed device at bus:00.function.
func partitionAt(number int, bus, function uint32, unique, profile string) Listed {
	return Listed{
		Number: number, UniqueID: unique, Profile: profile, Address: smitext.Address{Bus: bus, Function: function},
		Device: gpu.Device{Name: "card" + strconv.Itoa(number), Model: "MI300X"},
	}
}

// described writes GPUs as id@address#number of each device.
func described(gpus []GPU) []string {
	result := make([]string, 0, len(gpus))
	for i := range gpus {
		g := &gpus[i]
		var parts []string
		for j := range g.devices {
			d := &g.devices[j]
			parts = append(parts, d.ID+"@"+d.Info.PCIAddress+"#"+strconv.Itoa(g.numbers[j]))
		}
		result = append(result, strings.Join(parts, " "))
	}
	return result
}

func TestGPUs(t *testing.T) {
	t.Parallel()
	withPartition := func(l Listed, partition, order int) Listed {
		l.Partition, l.Order = gpu.Some(partition), order
		return l
	}
	ordered := func(l Listed, order int) Listed {
		l.Order = order
		return l
	}
	for name, c := range map[string]struct {
		listed []Listed
		want   []string
	}{
		"whole": {
			[]Listed{partitionAt(0, 3, 0, "c", ""), partitionAt(1, 4, 0, "", "SPX")}, []string{"c@0000:03:00.0#0", "@0000:04:00.0#1"},
		},
		"partitions at functions": {
			[]Listed{partitionAt(0, 3, 0, "c", "DPX"), partitionAt(2, 4, 0, "d", "SPX"), partitionAt(1, 3, 1, "c", "DPX")},
			[]string{"c@0000:03:00.0#0 c/0@0000:03:00.0#0 c/1@0000:03:00.0#1", "d@0000:04:00.0#2"},
		},
		"partitions without an id": {
			[]Listed{partitionAt(0, 3, 0, "", "DPX"), partitionAt(1, 3, 1, "", "DPX")}, []string{"@0000:03:00.0#0 @0000:03:00.0#0 @0000:03:00.0#1"},
		},
		"partitions by their numbers": {
			[]Listed{withPartition(partitionAt(0, 3, 0, "c", ""), 1, 0), withPartition(partitionAt(1, 3, 0, "c", ""), 0, 0)},
			[]string{"c@0000:03:00.0#1 c/0@0000:03:00.0#1 c/1@0000:03:00.0#0"},
		},
		"partitions at one address, by their KFD nodes": {
			[]Listed{ordered(partitionAt(0, 3, 0, "c", "DPX"), 2), ordered(partitionAt(1, 3, 0, "c", "DPX"), 1)},
			[]string{"c@0000:03:00.0#1 c/0@0000:03:00.0#1 c/1@0000:03:00.0#0"},
		},
		"a partition without the first": {
			[]Listed{partitionAt(5, 3, 2, "c", "CPX")}, []string{"c/2@0000:03:00.0#5"},
		},
		"functions of a virtual machine": {
			[]Listed{partitionAt(0, 3, 0, "c", "SPX"), partitionAt(1, 3, 1, "d", "SPX")}, []string{"c@0000:03:00.0#0", "d@0000:03:00.1#1"},
		},
		"the same id without an address": {
			[]Listed{partitionAt(0, 0, 0, "c", ""), partitionAt(1, 0, 0, "d", ""), partitionAt(2, 0, 0, "c", "")}, []string{"c@#0 c/0@#0 c/1@#2", "d@#1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, described(GPUs(c.listed)))
		})
	}
}

func TestPartition(t *testing.T) {
	t.Parallel()
	first, second := partitionAt(0, 3, 0, "c", "DPX"), partitionAt(1, 3, 1, "c", "DPX")
	first.Device.Info.ComputeCapability, first.Device.Info.NUMANode = "gfx942", gpu.Some[int64](1)
	first.Device.Power.Draw, second.Device.Power.Draw = gpu.Some(300.0), gpu.Some(300.0)
	first.Device.Memory.Limit, second.Device.Memory.Limit = gpu.Some[int64](200), gpu.Some[int64](100)
	second.Device.Memory.Usage, second.Device.Model = gpu.Some[int64](7), ""
	first.Shares = make([]Share, 2)
	first.Shares[1].Utilization[gpu.TaskGeneral] = gpu.Some(0.5)
	devices := GPUs([]Listed{first, second})[0].devices
	assert.Equal(t, gpu.Some(300.0), devices[0].Power.Draw)
	assert.Equal(t, []string{"0000:03:00.0"}, devices[1].Aliases, "an allocation by the address means the first partition")
	assert.False(t, devices[1].Memory.Limit.Known(), "the package's")
	d := devices[2]
	assert.Equal(t, gpu.Memory{Limit: gpu.Some[int64](100), Usage: gpu.Some[int64](7)}, d.Memory)
	assert.False(t, d.Power.Draw.Known(), "the package's")
	assert.Equal(t, "MI300X", d.Model)
	assert.Equal(t, gpu.Info{PCIAddress: "0000:03:00.0", Profile: "DPX", ComputeCapability: "gfx942", NUMANode: gpu.Some[int64](1)}, d.Info)
	assert.Equal(t, gpu.Some(0.5), d.Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.Some(1), d.Partition)
}

func TestLeaf(t *testing.T) {
	t.Parallel()
	leaves := map[int]Leaf{}
	for _, g := range GPUs([]Listed{partitionAt(0, 3, 0, "c", "DPX"), partitionAt(1, 3, 1, "c", "DPX"), partitionAt(2, 4, 0, "", "")}) {
		g.addLeaves(leaves)
	}
	assert.Len(t, leaves, 3)
	assert.Equal(t, gpu.Process{PID: 7, DeviceID: "c/0", Type: gpu.ProcessCompute}, leaves[0].Process(7), "the partition, and not the GPU")
	assert.Equal(t, "c/1", leaves[1].ID)
	assert.Equal(t, gpu.Process{PID: 7, Location: gpu.Location{PCIAddress: "0000:04:00.0"}, Type: gpu.ProcessCompute}, leaves[2].Process(7))
}

// TestRepeatedUsage: the driver repeats the GPU's memory usage for each partition.
func TestRepeatedUsage(t *testing.T) {
	t.Parallel()
	for used, want := range map[int64]bool{2907979776: false, 1000000000: true} {
		var listed []Listed
		for i := range 3 {
			l := partitionAt(i, 3, uint32(i), "c", "CPX")
			l.Device.Memory.Limit, l.Device.Memory.Usage = gpu.Some[int64](48<<30), gpu.Some(used)
			if i == 0 {
				l.Device.Memory.Limit, l.Device.Memory.Usage = gpu.Some[int64](192<<30), gpu.Some[int64](2907979776)
			}
			listed = append(listed, l)
		}
		devices := GPUs(listed)[0].devices
		require.Len(t, devices, 4)
		assert.True(t, devices[0].Memory.Usage.Known())
		assert.True(t, devices[3].Memory.Limit.Known())
		assert.Equal(t, want, devices[3].Memory.Usage.Known())
	}
}
