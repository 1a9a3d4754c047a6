// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// State is the health of a device (hw.state).
type State uint8

// The states, of which exactly one holds.
const (
	StateOK State = iota
	StateDegraded
	StateFailed
	StatePredictedFailure
	NumStates
)

// FaultType is why a device is not well (error.type of hw.gpu.fault).
type FaultType uint8

// The faults. Those up to FaultUnreachable make a device failed.
const (
	FaultLost           FaultType = iota // fell off the bus (NVML GPU_IS_LOST)
	FaultResetRequired                   // must be reset before it works again (NVML RESET_REQUIRED)
	FaultHung                            // a call on it has not returned
	FaultDriverMismatch                  // the library is of another version than the kernel's driver
	FaultUnreachable                     // it exists, but the driver gives no handle for it
	FaultRemapPending                    // rows wait for a reset to be remapped, or pages to be retired
	FaultRemapFailed                     // no spare rows are left
	FaultDrain                           // the driver asks for work to be moved away
	NumFaultTypes
)

// Fault is something wrong with a device.
type Fault struct {
	Type    FaultType
	Message string // what was seen, for a person
}

// State is what a single fault of this type means.
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

// State is the worst that the device's faults amount to: failed before degraded before predicted failure.
func (d *Device) State() State {
	state := StateOK
	for _, f := range d.Faults {
		switch s := f.Type.State(); {
		case s == StateFailed:
			return StateFailed
		case s == StateDegraded, state == StateOK:
			state = s
		}
	}
	return state
}

// AddFault notes a fault once.
func (d *Device) AddFault(t FaultType, message string) {
	for _, f := range d.Faults {
		if f.Type == t {
			return
		}
	}
	d.Faults = append(d.Faults, Fault{Type: t, Message: message})
}
