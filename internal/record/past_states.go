// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxActions bounds the recovery actions that are remembered for a device. A node that is not trusted can invent them.
const maxActions = 16

// pastStates is what a device has had since it was first seen. A state that is over is sent as 0 for as long as the device is there, so
// that an alert resolves with the read that no longer finds it.
type pastStates struct {
	faults  [gpu.NumFaultTypes]bool
	actions []string

	fabricStates     [gpu.NumFabricStates]bool
	fabricConditions [gpu.NumFabricConditions]bool
	pendingModes     [gpu.NumModes]bool
	bankSpares       [gpu.NumSpares]bool
}

// request notes that the driver requests an action. Of too many actions it forgets the oldest, whose series then ends.
func (s *pastStates) request(action string) {
	if slices.Contains(s.actions, action) {
		return
	}
	if len(s.actions) == maxActions {
		s.actions = slices.Delete(s.actions, 0, 1)
	}
	s.actions = append(s.actions, action)
}

// pastStatesOf returns the past states of the devices of a node by hw.id. Devices that are gone are forgotten.
func pastStatesOf(devices []gpu.Device, past map[string]*pastStates) map[string]*pastStates {
	present := make(map[string]*pastStates, len(devices))
	for i := range devices {
		id := devices[i].ID
		if present[id] = past[id]; present[id] == nil {
			present[id] = &pastStates{}
		}
	}
	return present
}
