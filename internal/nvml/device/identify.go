// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// identityQuery is a call for the identity of a device, other than its UUID. The value that the function sets counts only if it succeeded.
type identityQuery struct {
	function *library.Function
	call     func(dev *device, into *Identity) library.Code
}

// deviceName is the query of the name of a GPU, which is its model, and of an instance, which ends in its profile.
var deviceName = library.NewFunction("model", "nvmlDeviceGetName")

var gpuQueries = [...]identityQuery{
	{deviceName, func(dev *device, into *Identity) library.Code {
		name, ret := dev.handle.GetName()
		into.Model = gpu.CleanText(name)
		return library.Code(ret)
	}},
	{library.NewFunction("minor number", "nvmlDeviceGetMinorNumber"), func(dev *device, into *Identity) library.Code {
		minor, ret := dev.handle.GetMinorNumber()
		into.Name = Name(minor)
		return library.Code(ret)
	}},
	{library.NewFunction("serial number", "nvmlDeviceGetSerial"), func(dev *device, into *Identity) library.Code {
		serial, ret := dev.handle.GetSerial()
		into.Info.Serial = gpu.CleanText(serial)
		return library.Code(ret)
	}},
	{library.NewFunction("VBIOS version", "nvmlDeviceGetVbiosVersion"), func(dev *device, into *Identity) library.Code {
		version, ret := dev.handle.GetVbiosVersion()
		into.Info.FirmwareVersion = gpu.CleanText(version)
		return library.Code(ret)
	}},
	{
		library.NewFunction("PCI address", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"),
		func(dev *device, into *Identity) library.Code {
			pci, ret := dev.handle.GetPciInfo()
			into.Info.PCIAddress = PCIAddress(uint64(pci.Domain), uint64(pci.Bus), uint64(pci.Device), 0)
			return library.Code(ret)
		},
	},
	{
		library.NewFunction("compute capability", "nvmlDeviceGetCudaComputeCapability"),
		func(dev *device, into *Identity) library.Code {
			major, minor, ret := dev.handle.GetCudaComputeCapability()
			into.Info.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
			return library.Code(ret)
		},
	},
	{library.NewFunction("NVLink fabric", "nvmlDeviceGetGpuFabricInfo"), fabricIdentity},
	{library.NewFunction("NVLink version", "nvmlDeviceGetFieldValues"), nvlinkVersion},
	textQuery("board part number", "nvmlDeviceGetBoardPartNumber", library.Device.GetBoardPartNumber, func(i *gpu.Info) *string { return &i.BoardPartNumber }),
	textQuery("infoROM version", "nvmlDeviceGetInforomImageVersion", library.Device.GetInforomImageVersion, func(i *gpu.Info) *string { return &i.InfoROMVersion }),
	{library.NewFunction("brand", "nvmlDeviceGetBrand"), func(dev *device, into *Identity) library.Code {
		brand, ret := dev.handle.GetBrand()
		into.Info.Brand = word(brands[:], int64(brand))
		return library.Code(ret)
	}},
	{library.NewFunction("architecture", "nvmlDeviceGetArchitecture"), func(dev *device, into *Identity) library.Code {
		architecture, ret := dev.handle.GetArchitecture()
		into.Info.Architecture = word(architectures[:], int64(architecture))
		return library.Code(ret)
	}},
	{library.CUDAVersion, func(dev *device, into *Identity) (code library.Code) {
		into.Info.CUDAVersion, code = dev.lib.CUDAVersion()
		return code
	}},
	{library.NVMLVersion, func(dev *device, into *Identity) (code library.Code) {
		into.Info.NVMLVersion, code = dev.lib.NVMLVersion()
		return code
	}},
	{library.NewFunction("link to the CPU", "nvmlDeviceGetC2cModeInfoV"), func(dev *device, into *Identity) library.Code {
		mode, ret := dev.handle.GetC2cModeInfoV().V1()
		into.Info.C2CMode = enabled(mode.IsC2cEnabled != 0)
		return library.Code(ret)
	}},
	{library.DriverVersion, func(dev *device, into *Identity) (code library.Code) {
		into.Info.DriverVersion, code = dev.lib.DriverVersion()
		return code
	}},
}

func textQuery(name, symbol string, call func(library.Device) (string, library.Return), target func(*gpu.Info) *string) identityQuery {
	return identityQuery{library.NewFunction(name, symbol), func(dev *device, into *Identity) library.Code {
		text, ret := call(dev.handle)
		*target(&into.Info) = gpu.CleanText(text)
		return library.Code(ret)
	}}
}

var instanceQueries = [...]identityQuery{
	{library.NewFunction("GPU instance", "nvmlDeviceGetGpuInstanceId"), func(dev *device, into *Identity) library.Code {
		gi, ret := dev.handle.GetGpuInstanceId()
		into.GPUInstance = gpu.Some(gi)
		return library.Code(ret)
	}},
	{library.NewFunction("compute instance", "nvmlDeviceGetComputeInstanceId"), func(dev *device, into *Identity) library.Code {
		ci, ret := dev.handle.GetComputeInstanceId()
		into.ComputeInstance = gpu.Some(ci)
		return library.Code(ret)
	}},
	{deviceName, func(dev *device, into *Identity) library.Code {
		name, ret := dev.handle.GetName()
		into.Info.Profile = migProfile(gpu.CleanText(name))
		return library.Code(ret)
	}},
}

// identification is the set of outstanding queries of the identity of a device.
type identification struct {
	queries []identityQuery
	open    map[*library.Function]bool
}

// restart asks everything again.
func (i *identification) restart() {
	i.open = map[*library.Function]bool{}
	for _, q := range i.queries {
		i.open[q.function] = true
	}
}

// run makes the outstanding queries, and reports whether there is something new. A query that the device refuses is not repeated. A query
// that failed or has no value yet is repeated less and less often.
func (i *identification) run(dev *device, into *Identity) (changed bool) {
	for _, q := range i.queries {
		f := q.function
		if !i.open[f] {
			continue
		}
		if dev.Can(f) {
			updated := *into
			code := q.call(dev, &updated)
			if dev.OK(f, code) {
				*into, changed = updated, true
				delete(i.open, f)
			} else if code.Answer() == library.NoValue {
				dev.Postpone(f)
			}
		}
		if !dev.Supported(f) {
			delete(i.open, f)
		}
	}
	return changed
}

// identify asks what the GPU is. What is not known immediately is as it was.
func (g *GPU) identify(index int, driver string) library.Code {
	identity := Identity{ID: g.uuid, Index: gpu.Some(index)}
	if before := g.identity.Load(); before != nil {
		identity = *before
	}
	identity.Info.DriverVersion = driver
	g.Begin()
	g.identification.restart()
	if driver != "" {
		delete(g.identification.open, library.DriverVersion)
	}
	g.ask(&identity)
	if g.Fatal == library.OK {
		g.setIdentity(&identity)
		g.fields = newFieldValues(&g.Calls, g.cfg.Want, identity.Info.DriverVersion)
	}
	return g.Fatal
}

// identifyFurther asks again what is not known of the GPU.
func (g *GPU) identifyFurther() {
	if len(g.identification.open) == 0 {
		return
	}
	if identity := *g.identity.Load(); g.ask(&identity) {
		g.setIdentity(&identity)
	}
}

func (g *GPU) ask(identity *Identity) (changed bool) {
	changed = g.identification.run(&g.device, identity)
	if identity.Info.PCIAddress != "" && !identity.Info.NUMANode.Known() {
		identity.Info.NUMANode = g.cfg.NUMANode(identity.Info.PCIAddress)
	}
	return changed
}

// rememberFabric keeps the place in the fabric for reads that do not learn it.
func (g *GPU) rememberFabric(info *gpu.Info) {
	if current := g.identity.Load(); current.Info.FabricClique != info.FabricClique || current.Info.FabricCluster != info.FabricCluster {
		identity := *current
		identity.Info.FabricClique, identity.Info.FabricCluster = info.FabricClique, info.FabricCluster
		g.setIdentity(&identity)
	}
}

func (g *GPU) setIdentity(identity *Identity) {
	g.identity.Store(identity)
	g.partitions.inherit(identity)
}
