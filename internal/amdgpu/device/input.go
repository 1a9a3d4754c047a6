// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Config is what stays the same in all reads of a GPU.
type Config struct {
	Root    string    // contains the machine's sys, proc and usr
	Want    gpu.Group // the quantities to be read
	Wake    bool      // read it even if that wakes it
	Decoder *gpumetrics.Decoder
	Epoch   uint64 // of the first read
}

// Input is what a read is given.
type Input struct {
	Card  scan.Card
	Nodes []scan.Node // of the GPU and its partitions in the KFD topology
	Stale bool        // Card or Nodes are of an earlier scan, so they may not fit together
	Now   time.Time
	// DriverVersion is the result of ReadDriverVersion, and DriverVersionErr is why it is unknown.
	DriverVersion    string
	DriverVersionErr error
	// Names is the result of ReadNames; nil while the table does not answer.
	Names Names
	// ReadFile reads a file by its path: sysfs.Read, but for tests.
	ReadFile func(path string) ([]byte, error)
}

// Result is what a read found.
type Result struct {
	Device     gpu.Device
	Partitions []gpu.Device
	Problems   []gpu.Problem // of the GPU and its partitions; Device is empty
	// APU: the GPU has no memory of its own, by this read or an earlier one. It is also false if nothing is known.
	APU bool
	// Gone: the driver has no such card any more. Nothing was read.
	Gone bool
	// Denied is set if this process may read none of the files for which the driver queries the GPU. Nothing is known of its state.
	Denied error
	// FileLimit is set if this process may open no further file. Then no part of the result is reliable.
	FileLimit error
}
