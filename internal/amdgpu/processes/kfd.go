// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// KFDUsage is what the compute driver shows of one process on one GPU or partition.
type KFDUsage struct {
	pid    int64
	owner  scan.Owner
	memory int64
	units  gpu.Opt[float64] // the fraction of the compute units that work for it now
	// copied and evicted are seconds since the start of the process: the time in which the copy engines (SDMA) worked for it, and the time
	// in which its queues were not allowed to run because the driver had moved its memory.
	copied, evicted gpu.Opt[float64]
}

// KFD reads what the compute driver shows of its processes. Only one read may run at a time.
type KFD struct {
	dir       string
	isolation workers.Isolation
}

// NewKFD returns a reader of the compute driver's processes below root.
func NewKFD(root string) *KFD { return &KFD{dir: filepath.Join(root, "sys/class/kfd/kfd/proc")} }

// Read reads what the compute driver shows of its processes, until ctx ends, without special permissions: their memory on each GPU and, if
// wanted, the compute units that work for them and their times. An error is ErrBlocked; the other processes are returned with it.
func (k *KFD) Read(ctx context.Context, inv *scan.Inventory, want gpu.Group) ([]KFDUsage, error) {
	if len(inv.Nodes) == 0 {
		return nil, nil
	}
	pids, _, err := listPIDs(k.dir)
	if err != nil {
		return nil, nil //nolint:nilerr // no compute driver
	}
	var usages []KFDUsage
	blockedPIDs := workers.Each(ctx, &k.isolation, pids, func(pid int64) []KFDUsage { return k.readProcess(pid, inv, want) },
		func(_ int64, processUsages []KFDUsage) bool {
			usages = append(usages, processUsages...)
			return len(usages) < maxProcesses
		})
	if len(blockedPIDs) > 0 {
		return usages, blockedError("KFD files", blockedPIDs)
	}
	return usages, nil
}

func (k *KFD) readProcess(pid int64, inv *scan.Inventory, want gpu.Group) []KFDUsage {
	var usages []KFDUsage
	process := filepath.Join(k.dir, strconv.FormatInt(pid, 10))
	for node, memory := range readKFDMemory(process, inv) {
		u := KFDUsage{pid: pid, owner: scan.Owner{Address: node.Address, Partition: node.Partition}, memory: memory}
		if memory > 0 && want.Has(gpu.GroupProcessUtilization) && node.Units > 0 {
			u.units = readOccupancy(process, node)
		}
		if memory > 0 && want.Has(gpu.GroupProcessTimes) {
			id := strconv.FormatUint(node.GPUID, 10)
			u.copied = readTime(filepath.Join(process, "sdma_"+id), micro)
			u.evicted = readTime(filepath.Join(process, "stats_"+id, "evicted_ms"), milli)
		}
		usages = append(usages, u)
	}
	return usages
}

// readKFDMemory adds up the memory of a process by node: of the process itself and of its further contexts, which newer kernels
// have as directories of the same form.
func readKFDMemory(process string, inv *scan.Inventory) map[*scan.Node]int64 {
	memory := map[*scan.Node]int64{}
	for _, name := range addKFDContext(process, inv, memory) {
		if strings.HasPrefix(name, "context_") {
			addKFDContext(filepath.Join(process, name), inv, memory)
		}
	}
	return memory
}

// addKFDContext adds the sizes in the files vram_<gpu_id> of a context, and returns the names of all files.
func addKFDContext(dir string, inv *scan.Inventory, memory map[*scan.Node]int64) []string {
	names, _ := sysfs.Names(dir, maxKFDFiles)
	for _, name := range names {
		id, ok := strings.CutPrefix(name, "vram_")
		gpuID, valid := sysfs.ParseUint(id)
		if !ok || !valid {
			continue
		}
		node := inv.NodeByID(gpuID)
		if node == nil {
			continue
		}
		text, err := sysfs.Read(filepath.Join(dir, name))
		bytes, valid := sysfs.ParseUint(string(text))
		if err == nil && valid && bytes <= plausible.MostBytes {
			memory[node] += int64(bytes)
		}
	}
	return names
}

// readOccupancy returns the share of the compute units that work for a process.
func readOccupancy(process string, node *scan.Node) gpu.Opt[float64] {
	text, err := sysfs.Read(filepath.Join(process, "stats_"+strconv.FormatUint(node.GPUID, 10), "cu_occupancy"))
	units, ok := sysfs.ParseUint(string(text))
	if err != nil || !ok {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(min(1, float64(units)/float64(node.Units)))
}

// Units of the driver in one second.
const (
	milli = 1000
	micro = 1_000_000
)

// readTime reads a time in units of the driver and returns seconds. perSecond is the number of units in a second.
func readTime(path string, perSecond float64) gpu.Opt[float64] {
	text, err := sysfs.Read(path)
	n, ok := sysfs.ParseUint(string(text))
	if err != nil || !ok || n > math.MaxInt64 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(float64(n) / perSecond)
}
