// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCompleteIDs(t *testing.T) {
	const address, id = "0000:c1:00.0", "00112233445566aa"
	at := func(id string, partition Opt[int]) Device {
		return Device{ID: id, Name: "card1", Info: Info{PCIAddress: address}, Partition: partition}
	}
	whole, first := Opt[int]{}, Some(0)
	n := Node{
		Host:    Host{Name: "host", NodeName: "node"},
		Devices: []Device{at("", whole), at("", first), at(id, whole), at(id+"/0", first), {Name: "nvidia3"}},
		Processes: []Process{
			{Location: Location{PCIAddress: address}}, {Location: Location{PCIAddress: address, Partition: first}},
			{DeviceID: id}, {DeviceID: id + "/0"},
		},
	}
	n.CompleteIDs()
	var ids, parents, users []string
	for _, d := range n.Devices {
		ids, parents = append(ids, d.ID), append(parents, d.Parent)
	}
	for _, p := range n.Processes {
		users = append(users, p.DeviceID)
		assert.Zero(t, p.Location)
	}
	assert.Equal(t, []string{"node/" + address, "node/" + address + "/0", id, id + "/0", "node/nvidia3"}, ids)
	assert.Equal(t, []string{"", "node/" + address, "", "", ""}, parents)
	assert.Equal(t, []string{"node/" + address, "node/" + address + "/0", id, id + "/0"}, users)

	n.CompleteIDs()
	assert.Equal(t, "node/"+address, n.Devices[0].ID, "complete IDs stay")
	assert.Equal(t, "node/"+address, n.Processes[0].DeviceID, "complete IDs stay")
}

func TestCompleteIDsByHost(t *testing.T) {
	n := Node{Host: Host{Name: "host"}, Devices: []Device{{Info: Info{PCIAddress: "0000:01:00.0"}}}}
	n.CompleteIDs()
	assert.Equal(t, "host/0000:01:00.0", n.Devices[0].ID)
}

func TestState(t *testing.T) {
	state := func(faults ...FaultType) State {
		var d Device
		for _, f := range faults {
			d.AddFault(f, "first")
			d.AddFault(f, "again")
			assert.Equal(t, "first", d.Faults[len(d.Faults)-1].Message)
		}
		assert.Len(t, d.Faults, len(faults), "a fault is noted once")
		return d.State()
	}
	assert.Equal(t, StateOK, state())
	assert.Equal(t, StatePredictedFailure, state(FaultRemapPending))
	assert.Equal(t, StateDegraded, state(FaultRemapPending, FaultDrain))
	assert.Equal(t, StateDegraded, state(FaultDrain, FaultRemapFailed))
	assert.Equal(t, StateFailed, state(FaultDrain, FaultLost, FaultRemapFailed))
	for f, want := range [NumFaultTypes]State{
		FaultLost: StateFailed, FaultResetRequired: StateFailed, FaultHung: StateFailed, FaultDriverMismatch: StateFailed,
		FaultUnreachable: StateFailed, FaultRemapPending: StatePredictedFailure, FaultRemapFailed: StatePredictedFailure,
		FaultDrain: StateDegraded,
	} {
		assert.Equal(t, want, state(FaultType(f)), "fault %d", f)
	}
}

func TestOptional(t *testing.T) {
	var none Opt[int64]
	_, known := none.Get()
	assert.False(t, known)
	assert.Equal(t, Some[int64](7), none.Or(Some[int64](7)))
	assert.Equal(t, Some[int64](0), Some[int64](0).Or(Some[int64](7)), "a 0 that was read is a reading")

	var counter Counter[float64]
	assert.False(t, counter.Known())
	total, known := Total(0.0).Get()
	assert.True(t, known)
	assert.Zero(t, total)
}

func TestGroupAllHasEach(t *testing.T) {
	for g := GroupUtilization; g <= GroupEvents; g <<= 1 {
		assert.True(t, GroupAll.Has(g))
	}
	assert.False(t, GroupAll.Has(GroupEvents<<1))
}
