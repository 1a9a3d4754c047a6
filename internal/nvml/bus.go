// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// kernelDriver is the name of NVIDIA's kernel driver.
const kernelDriver = "nvidia"

// bus is what the kernel lists of NVIDIA's GPUs, whether or not the driver can read them.
type bus struct {
	pool workers.Pool
	task *workers.Task
	// patience is how long a scan is waited for.
	patience  time.Duration
	wake      bool                          // GPUs are read although that wakes them
	last      atomic.Pointer[pci.Functions] // nil: the bus could not be listed
	addresses map[string]struct{}           // of all GPUs that a scan has listed

	// These belong to the task.
	pci       *pci.Bus
	scanned   pci.Functions
	scanError error
}

// busPatience is much longer than a scan takes in which every file answers.
const busPatience = time.Second

func newBus(sys string, patience time.Duration) *bus {
	b := &bus{pci: pci.NewBus(sys, pci.VendorNVIDIA, isGPU), patience: cmp.Or(patience, busPatience), addresses: map[string]struct{}{}}
	b.task = b.pool.NewTask(nil)
	return b
}

// isGPU reports whether a class is a class of display controllers.
func isGPU(class uint32) bool { return class>>16 == 0x03 }

// scan lists the GPUs; see pci.Bus. While a file does not answer, the result of the last scan stays: the driver can be read without it.
// scan waits for at most a quarter of the time of a read.
func (b *bus) scan(ctx context.Context, again bool) {
	patience := b.patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/4)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b.pool.Run(ctx, workers.Job{Task: b.task, Func: func() { b.scanned, b.scanError = b.pci.Scan(again) }})
	switch {
	case b.task.Outcome() != workers.Done:
	case b.scanError != nil:
		b.last.Store(nil)
	default:
		functions := append(pci.Functions{}, b.scanned...)
		for i := range functions {
			functions[i].MaySleep = functions[i].MaySleep && !b.wake
			functions[i].Asleep = functions[i].Asleep && !b.wake
		}
		b.last.Store(&functions)
		for _, f := range functions {
			b.addresses[f.Address] = struct{}{}
		}
	}
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

// otherDriver reports whether a GPU that this machine has for itself is bound to another driver than NVIDIA's, such as nouveau.
func (b *bus) otherDriver() bool {
	all, _ := b.functions()
	return all.OtherDriver(kernelDriver)
}

// lacks reports whether a GPU has left the bus. A GPU that the bus has never listed, such as the GPU of a guest without /sys, says nothing.
func (b *bus) lacks(address string) bool {
	all, listed := b.functions()
	_, found := all.Find(address)
	_, known := b.addresses[address]
	return listed && known && !found
}

// allAsleep reports whether every GPU of NVIDIA's driver is asleep.
func (b *bus) allAsleep() bool {
	all, _ := b.functions()
	return all.AllAsleep(kernelDriver)
}

// maySleep reports whether the kernel may suspend a GPU.
func (b *bus) maySleep(address string) bool {
	all, _ := b.functions()
	f, _ := all.Find(address)
	return f.MaySleep
}

// allMaySleep reports whether the kernel may suspend every GPU of NVIDIA's driver.
func (b *bus) allMaySleep() bool {
	all, _ := b.functions()
	return all.All(kernelDriver, func(f pci.Function) bool { return f.MaySleep })
}

// asleep reports whether a GPU is asleep.
func (b *bus) asleep(address string) bool {
	all, _ := b.functions()
	f, _ := all.Find(address)
	return f.Asleep && f.Driver == kernelDriver
}

// address returns the address of the GPU with an index in NVML, which numbers the GPUs of its driver in the order of their addresses; empty if the
// driver has not as many GPUs as NVML.
func (b *bus) address(index, gpus int) string {
	all, _ := b.functions()
	bound := slices.DeleteFunc(slices.Clone(all), func(f pci.Function) bool { return f.Driver != kernelDriver })
	if len(bound) != gpus {
		return ""
	}
	return bound[index].Address
}

// numaNode returns the NUMA node of a GPU. It may be called while the bus is scanned.
func (b *bus) numaNode(address string) gpu.Opt[int64] {
	all, _ := b.functions()
	f, _ := all.Find(address)
	return f.NUMANode
}

// presence counts the GPUs of a machine if none of them can be read: which of them would be visible is unknown.
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
	p[gpu.Missing], p[gpu.Unmanaged] = gpu.Some(missing), gpu.Some(unmanaged)
	return p
}
