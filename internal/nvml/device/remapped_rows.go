// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var remappedRows = library.NewFunction("remapped rows", "nvmlDeviceGetRemappedRows")

// readRemappedRows calls the function that reads all of the rows that were replaced by spares, if the device has no fields of them. It adds
// the faults that follow from rows, or on older boards from pages taken out of use.
func readRemappedRows(dev *device, d *gpu.Device) {
	if f := dev.fields; f.lacks(fieldRemappedCorrected) && !f.noRows && dev.Can(remappedRows) {
		corrected, uncorrected, pending, failed, ret := dev.handle.GetRemappedRows()
		if dev.OK(remappedRows, library.Code(ret)) {
			r := &d.RemappedRows
			r.Corrected, r.Uncorrected = rows(corrected), rows(uncorrected)
			r.Pending, r.Failed = gpu.Some(pending), gpu.Some(failed)
		}
	}
	addRemapFaults(d)
}

// remapsRows reports whether GPUs of a compute capability may remap rows: since Ampere (8.0). Before it they retire pages, and some drivers
// answer 0 rows nevertheless. A GPU with an unknown capability is queried.
func remapsRows(capability string) bool {
	major, _, _ := strings.Cut(capability, ".")
	n, err := strconv.Atoi(major)
	return err != nil || n >= 8
}

// rows is an unsigned count to which the binding gives a sign.
func rows(n int) gpu.Counter[int64] {
	v, _ := library.Uint32(uint32(n))
	return count(v.Count())
}

func addRemapFaults(d *gpu.Device) {
	if failed, _ := d.RemappedRows.Failed.Get(); failed {
		d.AddFault(gpu.FaultRemapFailed, "a row of memory could not be remapped: no spare rows are left")
	}
	if pending, _ := d.RemappedRows.Pending.Get(); pending {
		d.AddFault(gpu.FaultRemapPending, "rows of memory are remapped at the next reset of the GPU")
	}
	if pending, _ := d.RetiredPages.Pending.Get(); pending {
		d.AddFault(gpu.FaultRemapPending, "pages of memory are retired at the next reboot or reset of the GPU")
	}
}
