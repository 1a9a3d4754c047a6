// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	persistenceMode = library.NewFunction("persistence mode", "nvmlDeviceGetPersistenceMode")
	displayActive   = library.NewFunction("display", "nvmlDeviceGetDisplayActive")
)

// idle reports whether the GPU could sleep but for NVML: it has no process, no display and no persistence mode. What the driver does not say
// counts as use. The driver is not asked if the kernel never suspends the GPU.
func (g *GPU) idle(out *Result) bool {
	if g.cfg.MaySleep == nil || !g.cfg.MaySleep(g.identity.Load().Info.PCIAddress) || g.mig || len(out.Processes) > 0 {
		return false
	}
	if !g.cfg.Want.Has(gpu.GroupProcesses | gpu.GroupProcessUtilization) {
		all := g.quantities.processes.read(&g.device)
		used := len(g.quantities.processes.merged.all) > 0
		g.quantities.processes.merged.clear() // they are not wanted
		if !all || used {
			return false
		}
	} else if out.Devices[0].ProcessesUnread {
		return false
	}
	return g.off(persistenceMode, number(library.Device.GetPersistenceMode)) && g.off(displayActive, number(library.Device.GetDisplayActive))
}

func (g *GPU) off(f *library.Function, call valueCall) bool {
	v, ok := g.value(f, call)
	return ok && v.Unsigned == 0
}
