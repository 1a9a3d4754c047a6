// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"errors"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// errHung is reported while a driver call on a GPU has been outstanding for long.
var errHung = errors.New("a call to the driver has not returned; the GPU is read again after the call returns")

// errLate is reported if the time for a read was over before a GPU was read.
var errLate = errors.New("nvml: the read timed out before the GPU was read; raise timeout or collection_interval")

// errNotOpened is reported if the time for a read was over before NVML was initialised.
var errNotOpened = errors.New("nvml: the read timed out before NVML was initialised; raise timeout or collection_interval")

// errSessionHung is reported while a driver call that concerns no single GPU is outstanding.
var errSessionHung = errors.New("nvml: a call that counts the GPUs or reads events has not returned; XIDs and new GPUs are not seen until it returns; " +
	"see the kernel log (dmesg)")

// errReleased is reported for a GPU that is read, but not held open between reads.
var errReleased = errors.New("nvml: XIDs of the GPU between two reads are not seen: it needs a reset, which an open driver would block; reset the GPU")

// errNotReopened is reported for the other GPUs if they cannot be held open instead.
var errNotReopened = errors.New("nvml: XIDs until the next read are not seen: another GPU needs a reset, and NVML could not be opened again without it")

// faultOf is the fault of a GPU that NVML refuses to read.
func faultOf(c library.Code) gpu.FaultType {
	switch c {
	case library.GPUIsLost:
		return gpu.FaultLost
	case library.ResetRequired:
		return gpu.FaultResetRequired
	case library.VersionMismatch:
		return gpu.FaultDriverMismatch
	default:
		return gpu.FaultUnreachable
	}
}

// needsReset reports whether the GPU must be reset or replaced now, which an open driver would block.
func needsReset(d *gpu.Device) bool {
	if action, ok := d.RecoveryAction.Get(); ok && action == gpu.RecoveryReset {
		return true
	}
	for _, f := range d.Faults {
		if f.Type == gpu.FaultResetRequired || f.Type == gpu.FaultLost {
			return true
		}
	}
	return false
}
