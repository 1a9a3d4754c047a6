// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLocation(t *testing.T) {
	assert.Equal(t, Location{PCIAddress: "card1"}, (&Device{Name: "card1"}).Location())
	first := Location{PCIAddress: "0000:01:00.0"}
	sorted := []Location{first, {first.PCIAddress, Some(0)}, {first.PCIAddress, Some(2)}, {PCIAddress: "0000:02:00.0"}}
	shuffled := []Location{sorted[2], sorted[3], sorted[1], sorted[0]}
	slices.SortFunc(shuffled, Location.Compare)
	assert.Equal(t, sorted, shuffled)
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
		FaultDrain: StateDegraded, FaultRecovery: StateDegraded, FaultFabric: StateDegraded,
		FaultSRAMThreshold: StatePredictedFailure, FaultBadPageThreshold: StatePredictedFailure,
		FaultInfoROM: StateDegraded,
	} {
		assert.Equal(t, want, state(FaultType(f)), "fault %d", f)
	}
}

func TestFirmwareVersion(t *testing.T) {
	for printed, want := range map[string]string{"113-D67301-063": "113-D67301-063", "96.00.74.00.01": "96.00.74.00.01", "xxx-xxx-xxx": "", "xxx-xxxxxx-xxx": "", "": ""} {
		assert.Equal(t, want, FirmwareVersion(printed))
	}
}
