// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// kfdReader reads what the compute driver tells of its processes, which anyone may read: their memory on each GPU, and how many
// compute units have work of them. While its task runs, all of it but task and stop belongs to the task.
type kfdReader struct {
	task *task
	stop atomic.Bool // give up: nobody waits any more

	root string
	want gpu.Group

	inv *inventory

	list, inner, buf []byte
	pids             []int64
	memory           map[*kfdNode]int64 // of one process
	uses             []kfdUse
}

// kfdUse is what one process has of one GPU or partition.
type kfdUse struct {
	pid    int64
	owner  owner
	memory int64
	units  gpu.Opt[float64] // the fraction of the compute units that have work of it now
}

func newKFDReader(root string, want gpu.Group) *kfdReader {
	k := &kfdReader{
		root: root, want: want,
		list: make([]byte, listSize), inner: make([]byte, listSize), buf: make([]byte, 8<<10), memory: map[*kfdNode]int64{},
	}
	k.task = &task{run: k.read}
	return k
}

// begin prepares a read.
func (k *kfdReader) begin(inv *inventory) {
	k.inv = inv
	k.stop.Store(false)
}

func (k *kfdReader) read() {
	k.uses = k.uses[:0]
	if len(k.inv.nodes) == 0 {
		return
	}
	d, err := openDir(filepath.Join(k.root, "sys/class/kfd/kfd/proc"))
	if err != nil {
		return
	}
	defer d.close()
	k.pids = k.pids[:0]
	for name := range d.names(k.list) {
		if pid, ok := parseUint(name); ok && pid > 0 && pid < 1<<31 && len(k.pids) < maxPIDs {
			k.pids = append(k.pids, int64(pid))
		}
	}
	slices.Sort(k.pids)
	for _, pid := range k.pids {
		if k.stop.Load() || len(k.uses) >= maxProcesses {
			return
		}
		if process, err := d.openBelow(string(appendUint(nil, uint64(pid)))); err == nil {
			k.readProcess(process, pid)
			process.close()
		}
	}
}

// readProcess reads one process. Its further contexts, which newer kernels have, are directories of the same form in it.
func (k *kfdReader) readProcess(d *dir, pid int64) {
	clear(k.memory)
	k.addContext(d)
	for name := range d.names(k.list) {
		if bytes.HasPrefix(name, []byte("context_")) {
			if context, err := d.openBelow(string(name)); err == nil {
				k.addContext(context)
				context.close()
			}
		}
	}
	for node, memory := range k.memory {
		use := kfdUse{pid: pid, owner: owner{address: node.address, partition: node.partition}, memory: memory}
		if memory > 0 && k.want.Has(gpu.GroupProcessUtilization) && node.units > 0 {
			use.units = k.occupancy(d, node)
		}
		k.uses = append(k.uses, use)
	}
}

// addContext adds the sizes in the files vram_<gpu_id>.
func (k *kfdReader) addContext(d *dir) {
	for name := range d.names(k.inner) {
		digits, ok := bytes.CutPrefix(name, []byte("vram_"))
		id, numeric := parseUint(digits)
		if !ok || !numeric {
			continue
		}
		node := k.inv.node(id)
		if node == nil {
			continue
		}
		text, err := d.read(string(name), k.buf)
		if v, valid := parseUint(text); err == nil && valid && v <= mostBytes {
			k.memory[node] += int64(v)
		}
	}
}

// occupancy returns the share of the compute units that have work of a process.
func (k *kfdReader) occupancy(d *dir, node *kfdNode) gpu.Opt[float64] {
	text, err := d.read("stats_"+string(appendUint(nil, node.gpuID))+"/cu_occupancy", k.buf)
	units, ok := parseUint(text)
	if err != nil || !ok {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(min(1, float64(units)/float64(node.units)))
}

// node returns the node of a gpu_id.
func (inv *inventory) node(gpuID uint64) *kfdNode {
	for i := range inv.nodes {
		if inv.nodes[i].gpuID == gpuID {
			return &inv.nodes[i]
		}
	}
	return nil
}
