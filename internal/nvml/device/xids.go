// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import "github.com/otelgpu/gpureceiver/internal/nvml/library"

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
	wanted := supported & (library.EventXID | library.EventMIG)
	return g.OK(registerEvents, library.Code(g.handle.RegisterEvents(wanted, set))) || !g.Supported(registerEvents)
}
