// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/pci"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// kernelDriver is the name of NVIDIA's kernel driver on Linux.
const kernelDriver = "nvidia"

// sleepWatch looks whether this machine's GPUs are asleep (runtime power management). The tool wakes all of them.
type sleepWatch struct {
	pool workers.Pool
	task *workers.Task // the scan, which may not return
	bus  *pci.Bus

	scanned pci.Functions // belongs to the task
}

func newSleepWatch(sys string) *sleepWatch {
	w := &sleepWatch{bus: pci.NewBus(sys, pci.VendorNVIDIA, func(class uint32) bool { return class>>16 == 0x03 })}
	w.task = w.pool.NewTask(nil)
	return w
}

// scanPatience is much longer than a scan takes in which every file answers.
const scanPatience = time.Second

// asleep returns the GPUs if all are asleep. If the kernel does not say so, they count as awake.
func (w *sleepWatch) asleep(ctx context.Context) pci.Functions {
	if w == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, scanPatience)
	defer cancel()
	w.pool.Run(ctx, workers.Job{Task: w.task, Func: func() { w.scanned, _ = w.bus.Scan(false) }})
	if w.task.Outcome() != workers.Done || !w.scanned.AllAsleep(kernelDriver) {
		return nil
	}
	return w.scanned
}

// asleepNode returns the node of a read while all GPUs are asleep: what is known of each, which for a GPU that was never read is its PCI address.
func asleepNode(now time.Time, functions pci.Functions, known *knownGPUs) *gpu.Node {
	n := &gpu.Node{Vendor: gpu.NVIDIA, Time: now}
	known.reloaded = known.reloaded || known.driver != "" // without power, counters start again
	missing := known.inventory.All()
	for _, f := range functions {
		if f.Driver != kernelDriver {
			continue
		}
		devices := []gpu.Device{{Vendor: gpu.NVIDIA, Info: gpu.Info{PCIAddress: f.Address}}}
		if k := known.inventory.Find("", f.Address); k != nil {
			devices = k.Devices
			missing = slices.DeleteFunc(missing, func(other *knownGPU) bool { return other == k })
		}
		inventory.AddAsleep(n, "nvidia-smi", devices)
	}
	n.Presence[gpu.Visible], n.Presence[gpu.Missing] = gpu.Some(int64(len(n.Problems))), gpu.Some(int64(len(missing)))
	for _, k := range missing {
		k.AddTo(n, gpu.FaultUnreachable, "it was seen before, and is not among the GPUs of NVIDIA's driver on the PCI bus any more")
	}
	return n
}
