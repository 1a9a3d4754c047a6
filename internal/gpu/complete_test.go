// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCompleteIDs(t *testing.T) {
	const address, id = "0000:c1:00.0", "00112233445566aa"
	device := func(id string, partition Opt[int]) Device {
		return Device{ID: id, Name: "card1", Info: Info{PCIAddress: address}, Partition: partition}
	}
	whole, first := Opt[int]{}, Some(0)
	n := Node{
		Host:    Host{Name: "host", NodeName: "node"},
		Devices: []Device{device("", whole), device("", first), device(id, whole), device(id+"/0", first), {Name: "nvidia3"}},
		Processes: []Process{
			{Location: Location{PCIAddress: address}},
			{Location: Location{PCIAddress: address, Partition: first}},
			{DeviceID: id},
			{DeviceID: id + "/0"},
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
