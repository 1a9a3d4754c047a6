// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	kibi    = 1 << 10
	mostKiB = 1<<50 - 1
)

// setXGMI sets the bytes over XGMI: what the GPU read from others it has received, what it wrote it has transmitted.
func setXGMI(want gpu.Group, table *gpumetrics.Table, d *gpu.Device) {
	var read, written int64
	known := false
	for i := range table.XGMIRead {
		in, ok1 := table.XGMIRead[i].Get()
		out, ok2 := table.XGMIWritten[i].Get()
		if !ok1 || !ok2 || in > mostKiB || out > mostKiB {
			continue
		}
		known = true
		read += int64(in) * kibi
		written += int64(out) * kibi
		if want.Has(gpu.GroupInterconnectLinks) {
			d.Interconnect.Links = append(d.Interconnect.Links, gpu.Link{
				Name: strconv.Itoa(i), Received: gpu.Total(int64(in) * kibi), Transmitted: gpu.Total(int64(out) * kibi),
			})
		}
	}
	if !known {
		return
	}
	d.Interconnect.Type = gpu.XGMI
	if want.Has(gpu.GroupInterconnect) {
		d.Interconnect.Received, d.Interconnect.Transmitted = gpu.Total(read), gpu.Total(written)
	}
}
