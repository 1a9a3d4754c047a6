// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/device"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// reader reads the GPU at one PCI address. It is kept while the GPU is lost, so that a GPU that is back goes on.
type reader struct {
	address string
	task    *workers.Task
	gpu     *device.GPU   // belongs to the task
	result  device.Result // what the task leaves
	queued  bool          // the current read has a job for it
	epoch   uint64        // of the last read of the GPU
	apu     bool          // by the last read of the GPU
}

// done reports whether the present read has a result.
func (r *reader) done() bool { return r.queued && r.task.Outcome() == workers.Done }

// read reports whether the present read has read the GPU.
func (r *reader) read() bool { return r.done() && !r.result.Gone }
