// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	registerEvents  = library.NewFunction("events", "nvmlDeviceRegisterEvents")
	supportedEvents = library.NewFunction("events", "nvmlDeviceGetSupportedEventTypes")
)

// RegisterXIDs lets the driver queue the GPU's XIDs in a set of events, nil before it is created. It calls registering before the first of
// them may come. It reports whether the driver queues them or never will; otherwise it is worth another attempt.
func (g *GPU) RegisterXIDs(set library.EventSet, registering func(library.BoundDevice)) (settled bool) {
	if !g.Supported(supportedEvents) || !g.Supported(registerEvents) {
		return true
	}
	if set == nil || !g.Can(supportedEvents) || !g.Can(registerEvents) {
		return false // something failed, and is retried later
	}
	supported, ret := g.handle.GetSupportedEventTypes()
	if !g.OK(supportedEvents, library.Code(ret)) {
		return !g.Supported(supportedEvents)
	}
	if supported&library.EventXID == 0 {
		return true
	}
	registering(g.handle.BoundDevice)
	eventTypes := supported & (library.EventXID | library.EventMIG)
	return g.OK(registerEvents, library.Code(g.handle.RegisterEvents(eventTypes, set))) || !g.Supported(registerEvents)
}

var validateInfoROM = library.NewFunction("infoROM", "nvmlDeviceValidateInforom")

// infoROMEvery is how often the infoROM is validated: the driver reads all of it from its flash memory for that.
const infoROMEvery = time.Hour

// infoROM is whether the infoROM is corrupted.
type infoROM struct {
	validated time.Time // zero: not yet
	corrupt   bool
}

func (i *infoROM) validate(dev *device, _ *gpu.Device) {
	if !i.validated.IsZero() && dev.readTime.Sub(i.validated).Abs() < infoROMEvery || !dev.Can(validateInfoROM) {
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
		i.validated = dev.readTime
	}
}

// recoveryActions are the values of nvmlDeviceGpuRecoveryAction_t in order, and the fault that each means; NumFaultTypes: none.
var recoveryActions = [...]struct {
	action  gpu.RecoveryAction
	fault   gpu.FaultType
	message string
}{
	{gpu.RecoveryNone, gpu.NumFaultTypes, ""},
	{gpu.RecoveryReset, gpu.FaultResetRequired, "the driver asks for a reset of the GPU"},
	{gpu.RecoveryReboot, gpu.FaultResetRequired, "the driver asks for a reboot of the node"},
	{gpu.RecoveryDrainP2P, gpu.FaultDrain, "the driver asks for peer-to-peer traffic to be drained"},
	{gpu.RecoveryDrainAndReset, gpu.FaultDrain, "the driver asks for the GPU to be drained and then reset"},
	{gpu.RecoveryIMEXDomain, gpu.FaultDrain, "the driver asks for the IMEX domain to be recovered"},
	// Since 615.
	{gpu.RecoveryBusReset, gpu.FaultResetRequired, "the driver asks for a bus reset of the GPU"},
	{gpu.RecoveryReboot, gpu.FaultResetRequired, "the driver asks for a reboot of the system"},
}

// readRecovery reads what the driver asks for to get the GPU back to work.
func readRecovery(dev *device, d *gpu.Device) {
	action, ok := dev.fields.count(rowRecovery)
	switch {
	case !ok:
	case action >= int64(len(recoveryActions)):
		d.RequestUnknownRecovery(strconv.FormatInt(action, 10))
	default:
		a := &recoveryActions[action]
		d.RecoveryAction = gpu.Some(a.action)
		if a.fault < gpu.NumFaultTypes {
			d.AddFault(a.fault, a.message)
		}
	}
}
