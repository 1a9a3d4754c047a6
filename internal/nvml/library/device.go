// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Device is a GPU or a MIG instance in the present session. It has the binding's methods; for lists use ProcessList, SampleList and
// ProcessSampleList.
type Device struct {
	BoundDevice
	list listHandle
}

// Device returns the GPU of an index.
func (l *Library) Device(index int) (Device, Code) {
	d, ret := gonvml.DeviceGetHandleByIndex(index)
	if Code(ret) != OK {
		return Device{}, Code(ret)
	}
	list, code := l.symbols.gpu(index)
	return Device{d, list}, code
}

// MIG returns the MIG instance of an index of the GPU (nvmlDeviceGetMigDeviceHandleByIndex).
func (d Device) MIG(index int) (Device, Code) {
	instance, ret := d.GetMigDeviceHandleByIndex(index)
	if Code(ret) != OK {
		return Device{}, Code(ret)
	}
	list, code := d.list.instance(index)
	return Device{instance, list}, code
}

// UUID returns the UUID (nvmlDeviceGetUUID).
func (d Device) UUID() (string, Code) {
	uuid, ret := d.GetUUID()
	return gpu.CleanText(uuid), Code(ret)
}
