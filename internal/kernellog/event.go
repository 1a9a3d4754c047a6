// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Kind is what a line of the log reports.
type Kind uint8

// The kinds.
const (
	KindXID          Kind = iota // NVIDIA: an XID
	KindGPU                      // NVIDIA: which UUID the GPU at an address has; printed before the first XID of a GPU
	KindFallenOffBus             // NVIDIA: the GPU has fallen off the bus
	KindRAS                      // AMD: hardware errors were counted, or poisoned data was used
	KindBadPages                 // AMD: pages of the memory were taken out of use
	KindBadPageLimit             // AMD: as many pages of the memory are bad that the GPU should be replaced
	KindRingTimeout              // AMD: a ring did not complete a job in time
	KindRingProcess              // AMD: the process of the job; a line after the line of KindRingTimeout
	KindResetBegun               // AMD: the driver resets the GPU
	KindResetSucceeded
	KindResetFailed // one failure may be in two lines
	KindSwitchError // NVIDIA: an NVSwitch had an error (SXid)
	KindPCIeError   // the kernel: a PCI Express error (AER) of a device, which need not be a GPU
)

// Vendor returns the vendor whose driver reports a kind; empty for KindPCIeError, which the kernel reports of any device.
func (k Kind) Vendor() gpu.Vendor {
	switch k {
	case KindXID, KindGPU, KindFallenOffBus, KindSwitchError:
		return gpu.NVIDIA
	case KindPCIeError:
		return ""
	default:
		return gpu.AMD
	}
}

// Event is what one message of the log reports about one GPU.
type Event struct {
	Kind Kind
	// Time is when the driver wrote the message. See clock for how exact it is.
	Time time.Time
	// Address is the PCI address in the form of gpu.Info.PCIAddress; empty if the message has no address.
	Address string
	// GPUInstance and ComputeInstance are the numbers of the MIG instance that the driver holds responsible.
	GPUInstance, ComputeInstance gpu.Opt[int]
	UUID                         string // of KindGPU: GPU-…
	XID                          int64  // of KindXID; of KindSwitchError the SXid
	CausedBy                     gpu.Opt[int64]
	// PID is the process that the driver names, in the machine's PID namespace, and Process its name. Absent if the driver does not know
	// it.
	PID     gpu.Opt[int64]
	Process string

	Class     gpu.ErrorClass // of KindRAS, KindPCIeError and KindSwitchError
	Count     gpu.Opt[int64] // of KindRAS: errors; of KindBadPages: new pages; of KindBadPageLimit: all pages
	Total     bool           // of KindRAS: Count is the total since the driver was loaded; otherwise what is new
	Part      string         // of KindRAS: the block; of KindRingTimeout: the ring; of KindPCIeError: the layer; of KindSwitchError: the switch
	Link      gpu.Opt[int64] // of KindSwitchError
	Recovered bool           // of KindRingTimeout: the driver ended the job, and the GPU needs no reset

	Text string // the message without the driver's prefix, for a person
}
