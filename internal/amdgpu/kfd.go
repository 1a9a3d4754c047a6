// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
	"path/filepath"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readKFD adds what the compute driver tells of its processes, which anyone may read: their memory on each GPU, and how many
// compute units have work of them. Where the process's open files tell its memory too, the two are not added: they are views
// of the same, of which the larger counts.
func (p *processReader) readKFD() {
	if len(p.inv.nodes) == 0 || p.stop.Load() {
		return
	}
	d, err := openDir(filepath.Join(p.root, "sys/class/kfd/kfd/proc"))
	if err != nil {
		return
	}
	defer d.close()
	p.pids = p.pids[:0]
	for name := range d.names(p.list) {
		if pid, ok := parseUint(name); ok && pid > 0 && pid < 1<<31 && len(p.pids) < maxPIDs {
			p.pids = append(p.pids, int64(pid))
		}
	}
	for _, pid := range p.pids {
		if p.stop.Load() || len(p.uses) >= maxProcesses {
			return
		}
		if process, err := d.openBelow(string(appendUint(nil, uint64(pid)))); err == nil {
			p.readKFDProcess(process, pid)
			process.close()
		}
	}
}

// readKFDProcess reads one process. Its further contexts, which newer kernels have, are directories of the same form in it.
func (p *processReader) readKFDProcess(d *dir, pid int64) {
	memory := map[*kfdNode]int64{}
	p.addContext(d, memory)
	for name := range d.names(p.fds) {
		if bytes.HasPrefix(name, []byte("context_")) {
			if context, err := d.openBelow(string(name)); err == nil {
				p.addContext(context, memory)
				context.close()
			}
		}
	}
	for node, bytes := range memory {
		start, known := p.first[pid]
		if !known {
			start = len(p.uses)
		}
		own := owner{address: node.address, partition: node.partition}
		u := p.find(start, pid, own)
		if u == nil {
			// KFD gives every process a file for every GPU.
			if bytes == 0 {
				continue
			}
			u = p.insert(start, known, pid, own)
		}
		u.kfd = true
		if of, ok := u.memory.Get(); !ok || bytes > of {
			u.memory = gpu.Some(bytes)
		}
		if bytes > 0 && p.want.Has(gpu.GroupProcessUtilization) && node.units > 0 {
			u.units = p.occupancy(d, node)
		}
	}
}

// addContext adds the sizes in the files vram_<gpu_id>.
func (p *processReader) addContext(d *dir, memory map[*kfdNode]int64) {
	for name := range d.names(p.list) {
		digits, ok := bytes.CutPrefix(name, []byte("vram_"))
		id, numeric := parseUint(digits)
		if !ok || !numeric {
			continue
		}
		node := p.inv.node(id)
		if node == nil {
			continue
		}
		text, err := d.read(string(name), p.buf)
		if v, valid := parseUint(text); err == nil && valid && v <= mostBytes {
			memory[node] += int64(v)
		}
	}
}

// occupancy returns the share of the compute units that have work of a process.
func (p *processReader) occupancy(d *dir, node *kfdNode) gpu.Opt[float64] {
	text, err := d.read("stats_"+string(appendUint(nil, node.gpuID))+"/cu_occupancy", p.buf)
	units, ok := parseUint(text)
	if err != nil || !ok {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(min(1, float64(units)/float64(node.units)))
}

func (p *processReader) find(start int, pid int64, own owner) *use {
	for i := start; i < len(p.uses) && p.uses[i].pid == pid; i++ {
		if u := &p.uses[i]; u.address == own.address && u.partition == own.partition {
			return u
		}
	}
	return nil
}

// insert adds a use at the end: those of a process need not be together any more, since all of them are looked for by GPU.
func (p *processReader) insert(start int, known bool, pid int64, own owner) *use {
	if !known {
		p.first[pid] = start
	}
	p.uses = append(p.uses, use{pid: pid, address: own.address, partition: own.partition})
	return &p.uses[len(p.uses)-1]
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
