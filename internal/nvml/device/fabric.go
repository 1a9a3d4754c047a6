// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"fmt"
	"math"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// fabricCalls are the versions of nvmlDeviceGetGpuFabricInfo, the newest first. A driver that does not know one refuses it.
var fabricCalls = [...]struct {
	function *library.Function
	call     func(library.Device) (library.FabricInfo, library.Return)
}{
	{library.NewFunction("NVLink fabric", "nvmlDeviceGetGpuFabricInfoV"), library.Device.FabricInfo3},
	{library.NewFunction("NVLink fabric", "nvmlDeviceGetGpuFabricInfoV"), library.Device.FabricInfo2},
	{library.NewFunction("NVLink fabric", "nvmlDeviceGetGpuFabricInfo"), library.Device.FabricInfo1},
}

// fabricStates are the values of nvmlGpuFabricState_t from 1 on. 0 is the value of a GPU without a fabric.
var fabricStates = [...]gpu.FabricState{1: gpu.FabricNotStarted, 2: gpu.FabricInProgress, 3: gpu.FabricCompleted}

// readFabric reads how the GPU is registered with the NVLink fabric. A GPU without one is queried less and less often.
func readFabric(dev *device, d *gpu.Device) {
	for i := range fabricCalls {
		f := fabricCalls[i].function
		if dev.Can(f) {
			info, ret := fabricCalls[i].call(dev.handle)
			if dev.OK(f, library.Code(ret)) {
				if info.State == 0 {
					dev.Postpone(f)
				}
				setFabric(d, &info)
			}
			if library.Code(ret) == library.NotSupported { // the GPU, and not the version of the call
				for _, c := range fabricCalls[i:] {
					dev.Refuse(c.function)
				}
			}
		}
		if dev.Supported(f) {
			return
		}
	}
}

func setFabric(d *gpu.Device, info *library.FabricInfo) {
	_ = placeInFabric(&d.Info, info) // the identity reports what it says
	if info.State == 0 || int(info.State) >= len(fabricStates) {
		return
	}
	state := fabricStates[info.State]
	d.Fabric.State = gpu.Some(state)
	if state != gpu.FabricCompleted {
		return
	}
	if info.Status != library.OK {
		d.Fabric.Failure = info.Status.Text()
		return
	}
	d.Fabric.Conditions = fabricConditions(info.HealthMask, info.HealthSummary)
}

// fabricIdentity queries the place in the fabric once, for hw.gpu.board.info if nothing else of the fabric is wanted. A GPU that has not
// registered yet is queried again.
func fabricIdentity(dev *device, into *Identity) library.Code {
	code := library.FunctionNotFound
	for i := range fabricCalls {
		if !dev.Has(fabricCalls[i].function) {
			continue
		}
		info, ret := fabricCalls[i].call(dev.handle)
		if code = library.Code(ret); code == library.OK {
			return placeInFabric(&into.Info, &info)
		}
		if code.Answer() != library.Unsupported || code == library.NotSupported {
			break
		}
	}
	return code
}

func placeInFabric(into *gpu.Info, info *library.FabricInfo) library.Code {
	into.FabricClique, into.FabricCluster = "", ""
	switch {
	case info.State == 0:
		return library.NotSupported
	case int(info.State) >= len(fabricStates) || fabricStates[info.State] != gpu.FabricCompleted || info.Status != library.OK:
		return library.NotReady
	}
	into.FabricClique, into.FabricCluster = strconv.FormatUint(uint64(info.Clique), 10), uuidText(info.Cluster)
	return library.OK
}

// uuidText is the usual form of a UUID; empty for one of zeros, which a fabric of one node has.
func uuidText(id [16]byte) string {
	if id == [16]byte{} {
		return ""
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// fabricFlags are the conditions of NVML_GPU_FABRIC_HEALTH_MASK_* that take two bits from a place on: 0 not supported, 1 true, 2 false.
var fabricFlags = [...]struct {
	condition gpu.FabricCondition
	shift     uint32
}{
	{gpu.FabricDegradedBandwidth, 0},
	{gpu.FabricRouteRecovery, 2},
	{gpu.FabricRouteUnhealthy, 4},
	{gpu.FabricAccessTimeoutRecovery, 6},
}

// fabricConditions decodes the health mask, and the summary that drivers have since 570. The incorrect configuration takes four bits from the
// eighth on: 0 not supported, 1 none, more a kind of it.
func fabricConditions(mask uint32, summary uint8) (c [gpu.NumFabricConditions]gpu.Opt[bool]) {
	if mask == math.MaxUint32 {
		mask = 0
	}
	for _, f := range fabricFlags {
		v := mask >> f.shift & 3
		c[f.condition] = known(v == 1, v == 1 || v == 2)
	}
	configuration := mask >> 8 & 0xf
	c[gpu.FabricIncorrectConfiguration] = known(configuration > 1, configuration > 0)
	if summary >= 1 && summary <= 3 { // healthy, unhealthy, limited capacity
		c[gpu.FabricUnhealthy] = gpu.Some(summary == 2)
		c[gpu.FabricLimitedCapacity] = gpu.Some(summary == 3)
	}
	return c
}
