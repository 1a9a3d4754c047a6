// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
)

// kernelGPUs finds the GPU, or the MIG instance, that a line of the kernel's log is about. The log has its PCI address.
type kernelGPUs struct {
	byAddress map[string]gpuAt  // by PCI address
	uuids     map[string]string // by PCI address, from the log
	ports     ports
}

// gpuAt is the GPU at a PCI address, as last read.
type gpuAt struct {
	gpu       gpu.Device
	instances []gpu.Device
}

// newKernelGPUs returns an empty kernelGPUs. sys is the mount point of sysfs.
func newKernelGPUs(sys string) kernelGPUs {
	return kernelGPUs{byAddress: map[string]gpuAt{}, uuids: map[string]string{}, ports: newPorts(sys)}
}

// set records the addresses of the GPUs of a node. A GPU that is gone keeps its address until another GPU has it.
func (g *kernelGPUs) set(node *gpu.Node) {
	instances := map[string][]gpu.Device{}
	for i := range node.Devices {
		if d := &node.Devices[i]; d.Parent != "" {
			instances[d.Parent] = append(instances[d.Parent], identityOf(d))
		}
	}
	for i := range node.Devices {
		if d := &node.Devices[i]; d.Parent == "" && d.Info.PCIAddress != "" {
			g.byAddress[d.Info.PCIAddress] = gpuAt{identityOf(d), instances[d.ID]}
			g.ports.set(d.Info.PCIAddress)
		}
	}
}

// identityOf returns a device without its readings, which are the source's.
func identityOf(d *gpu.Device) gpu.Device {
	return gpu.Device{
		ID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Parent: d.Parent, GPUInstance: d.GPUInstance, ComputeInstance: d.ComputeInstance,
	}
}

// device returns the device that a line is about.
func (g *kernelGPUs) device(host *gpu.Host, message *kernellog.Event) gpu.Device {
	entry, known := g.byAddress[message.Address]
	if !known {
		return gpu.Device{ID: cmp.Or(g.uuids[message.Address], cmp.Or(host.NodeName, host.Name)+"/"+message.Address)}
	}
	if instance := entry.instance(message); instance != nil {
		return *instance
	}
	return entry.gpu
}

// instance returns the MIG instance that a line names; nil if the line names no instance, or an unknown one.
func (g *gpuAt) instance(message *kernellog.Event) *gpu.Device {
	var only *gpu.Device
	for i := range g.instances {
		d := &g.instances[i]
		if !message.GPUInstance.Known() || d.GPUInstance != message.GPUInstance {
			continue
		}
		if d.ComputeInstance == message.ComputeInstance {
			return d
		}
		if message.ComputeInstance.Known() {
			continue
		}
		if only != nil {
			return nil // one of several
		}
		only = d
	}
	return only
}
