// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var validateInfoROM = library.NewFunction("infoROM", "nvmlDeviceValidateInforom")

// infoROMEvery is how often the infoROM is validated: the driver reads all of it from its flash memory for that.
const infoROMEvery = time.Hour

// infoROM is whether the infoROM is corrupted.
type infoROM struct {
	validated time.Time // zero: not yet
	corrupt   bool
}

func (i *infoROM) validate(dev *device, _ *gpu.Device) {
	if !i.validated.IsZero() && dev.at.Sub(i.validated).Abs() < infoROMEvery || !dev.Can(validateInfoROM) {
		return
	}
	code := library.Code(dev.handle.ValidateInforom())
	switch code {
	case library.CorruptInfoROM: // that is a fault, and an answer
		i.corrupt, code = true, library.OK
	case library.OK:
		i.corrupt = false
	case library.NoPermission: // a collector that may not validate it works as intended
		code = library.NotSupported
	}
	if dev.OK(validateInfoROM, code) {
		i.validated = dev.at
	}
}
