// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"sync/atomic"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

// kernelDriver is the name of NVIDIA's kernel driver.
const kernelDriver = "nvidia"

// bus is what the kernel lists of NVIDIA's GPUs, whether or not the driver can read them.
type bus struct {
	pci  *pci.Bus
	last atomic.Pointer[pci.Functions] // nil: the bus could not be listed
}

func newBus(sys string) *bus { return &bus{pci: pci.NewBus(sys, pci.VendorNVIDIA, isGPU)} }

// isGPU reports whether a class is that of VGA or 3D controllers.
func isGPU(class uint32) bool { return class>>8 == 0x0300 || class>>8 == 0x0302 }

// scan lists the GPUs; see pci.Bus.
func (b *bus) scan(again bool) {
	functions, err := b.pci.Scan(again)
	if err != nil {
		b.last.Store(nil)
		return
	}
	if functions == nil {
		functions = pci.Functions{}
	}
	b.last.Store(&functions)
}

// functions returns the GPUs that were listed, and whether the bus could be listed.
func (b *bus) functions() (pci.Functions, bool) {
	if all := b.last.Load(); all != nil {
		return *all, true
	}
	return nil, false
}

// foreign reports whether a GPU is bound to another driver than NVIDIA's, such as vfio-pci.
func (b *bus) foreign(address string) bool {
	all, _ := b.functions()
	return all.Foreign(address, kernelDriver)
}

// lacks reports whether a GPU is known not to be on the bus.
func (b *bus) lacks(address string) bool {
	all, listed := b.functions()
	_, found := all.Find(address)
	return listed && !found && address != ""
}

// numaNode returns the NUMA node of a GPU. It may be called while the bus is scanned.
func (b *bus) numaNode(address string) gpu.Opt[int64] {
	all, _ := b.functions()
	f, _ := all.Find(address)
	return f.NUMANode
}

// presence counts the GPUs of a machine where none is read.
func (b *bus) presence() (p [gpu.NumPresences]gpu.Opt[int64]) {
	functions, listed := b.functions()
	if !listed {
		return p
	}
	var missing, unmanaged int64
	for _, f := range functions {
		if b.foreign(f.Address) {
			unmanaged++
		} else {
			missing++
		}
	}
	p[gpu.Visible], p[gpu.Missing], p[gpu.Unmanaged] = gpu.Some[int64](0), gpu.Some(missing), gpu.Some(unmanaged)
	return p
}
