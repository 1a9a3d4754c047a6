// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// State is the health of a device (hw.state).
type State uint8

// The states. A device has exactly one.
const (
	StateOK State = iota
	StateDegraded
	StateFailed
	StatePredictedFailure
	NumStates
)

// FaultType is what is wrong with a device (error.type of hw.gpu.fault).
type FaultType uint8

// The faults. A device with any of the faults up to FaultUnreachable is failed.
const (
	FaultLost           FaultType = iota // fell off the bus (NVML GPU_IS_LOST)
	FaultResetRequired                   // must be reset before it works again (NVML RESET_REQUIRED)
	FaultHung                            // a driver call on it is outstanding
	FaultDriverMismatch                  // library and kernel driver have different versions
	FaultUnreachable                     // it exists, but the driver returns no handle for it
	FaultRemapPending                    // a reset is needed to remap rows or to retire pages
	FaultRemapFailed                     // a row could not be remapped: no spare row is left
	FaultDrain                           // the driver requests that work is moved away
	FaultRecovery                        // the driver requests a recovery action that this version does not know
	NumFaultTypes
)

// Fault is one thing that is wrong with a device.
type Fault struct {
	Type    FaultType
	Message string // what was observed, for people
}

// State returns the state of a device that has only this fault.
func (t FaultType) State() State {
	switch t {
	case FaultLost, FaultResetRequired, FaultHung, FaultDriverMismatch, FaultUnreachable:
		return StateFailed
	case FaultRemapPending, FaultRemapFailed:
		return StatePredictedFailure
	default:
		return StateDegraded
	}
}
