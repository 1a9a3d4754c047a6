// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"strings"
)

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
	FaultLost             FaultType = iota // fell off the bus (NVML GPU_IS_LOST)
	FaultResetRequired                     // must be reset before it works again (NVML RESET_REQUIRED)
	FaultHung                              // a driver call on it is outstanding
	FaultDriverMismatch                    // library and kernel driver have different versions
	FaultUnreachable                       // it exists, but the driver returns no handle for it
	FaultRemapPending                      // a reset is needed to remap rows or to retire pages
	FaultRemapFailed                       // a row could not be remapped: no spare row is left
	FaultDrain                             // the driver requests that work is moved away
	FaultRecovery                          // the driver requests a recovery action that this version does not know
	FaultFabric                            // the GPU is not well in the NVLink fabric
	FaultSRAMThreshold                     // SRAM has had more uncorrectable errors than the vendor allows
	FaultBadPageThreshold                  // so many pages of the memory are bad that the GPU should be replaced
	FaultInfoROM                           // its infoROM is corrupted (NVML CORRUPTED_INFOROM)
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
	case FaultRemapPending, FaultRemapFailed, FaultSRAMThreshold, FaultBadPageThreshold:
		return StatePredictedFailure
	default:
		return StateDegraded
	}
}

// CorruptInfoROM is the message of FaultInfoROM.
const CorruptInfoROM = "its infoROM is corrupted: its serial number and its counts of errors may be wrong"

// AddFaultsOfReadings adds the faults that follow from what was read of the device, whichever source read it.
func (d *Device) AddFaultsOfReadings() {
	if message := d.Fabric.fault(); message != "" {
		d.AddFault(FaultFabric, message)
	}
	if exceeded, _ := d.ECC.SRAMThresholdExceeded.Get(); exceeded {
		d.AddFault(FaultSRAMThreshold, "its SRAM reported more uncorrectable errors than the vendor allows")
	}
	bad, known := d.RetiredPages.Bad.Get()
	if limit, ok := d.RetiredPages.BadLimit.Get(); ok && known && limit > 0 && bad >= limit {
		d.AddFault(FaultBadPageThreshold, fmt.Sprintf("%d pages of its memory are bad; it should be replaced at %d", bad, limit))
	}
}

var fabricConditions = [NumFabricConditions]string{
	FabricDegradedBandwidth:      "less bandwidth than it should have",
	FabricRouteRecovery:          "a route is being recovered",
	FabricRouteUnhealthy:         "a route is unhealthy",
	FabricAccessTimeoutRecovery:  "an access timed out, and a recovery is in progress",
	FabricIncorrectConfiguration: "its configuration is incorrect",
	FabricUnhealthy:              "it is unhealthy",
	FabricLimitedCapacity:        "its capacity is limited",
}

// fault returns what is wrong with the GPU in the fabric, or an empty text.
func (f *Fabric) fault() string {
	var wrong []string
	if f.Failure != "" {
		wrong = append(wrong, "its registration failed: "+f.Failure)
	}
	for condition, text := range fabricConditions {
		if holds, _ := f.Conditions[condition].Get(); holds {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	return "NVLink fabric: " + strings.Join(wrong, ", ")
}
