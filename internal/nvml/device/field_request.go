// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// maxFieldRequests bounds the calls of a read: one, and more only while quantities turn out to be in other fields.
const maxFieldRequests = 8

// readFieldValues asks for all fields in one call.
func readFieldValues(dev *device, _ *gpu.Device) {
	for range maxFieldRequests {
		fields := dev.fields.request()
		if len(fields) == 0 || !dev.Can(getFieldValues) {
			return
		}
		request := make([]library.FieldValue, len(fields))
		for n, i := range fields {
			id := dev.fields.id(i)
			request[n].FieldId, request[n].ScopeId = id.id, id.scope
		}
		if !dev.OKUncounted(getFieldValues, library.Code(dev.handle.GetFieldValues(request))) {
			return
		}
		for n := range request {
			v := &request[n]
			dev.fields.set(fields[n], library.Code(v.NvmlReturn), v.ValueType, v.Value)
		}
		dev.fields.addLinks()
	}
}
