// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

#cgo noescape gpurecv_processes
#cgo nocallback gpurecv_processes
static int gpurecv_processes(void *f, void *device, unsigned int *count, void *infos)
{
	return ((int (*)(void *, unsigned int *, void *))f)(device, count, infos);
}

#cgo noescape gpurecv_samples
#cgo nocallback gpurecv_samples
static int gpurecv_samples(void *f, void *device, int type, unsigned long long since, int *kind, unsigned int *count, void *samples)
{
	return ((int (*)(void *, int, unsigned long long, int *, unsigned int *, void *))f)(device, type, since, kind, count, samples);
}

#cgo noescape gpurecv_usages
#cgo nocallback gpurecv_usages
static int gpurecv_usages(void *f, void *device, void *samples, unsigned int *count, unsigned long long since)
{
	return ((int (*)(void *, void *, unsigned int *, unsigned long long))f)(device, samples, count, since);
}
*/
import "C"

import (
	"reflect"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// The binding asks for each list twice, with room for one entry or none at first, into memory of its own; and it panics
// where a list of samples grows in between. A node has three lists of processes and up to seven of samples for each GPU.
// For GPM it copies 13 KB four times. So these functions alone are called here, by the pointers that the loader gives for
// them, into room that is kept.

const (
	firstRoom = 64
	mostRoom  = 1 << 16
)

// direct are the functions that are called without the binding; nil where the library lacks one.
type direct struct {
	processes [3]unsafe.Pointer // compute, graphics, MPS
	old       [3]bool           // whose entries are of the first version
	samples   unsafe.Pointer
	usages    unsafe.Pointer

	gpmAlloc, gpmFree, gpmSample, gpmMetrics unsafe.Pointer
}

// findDirect looks the functions up in the library of that name, which is loaded already.
func findDirect(name string) (d direct) {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	handle := C.dlopen(path, C.RTLD_LAZY) // kept, as the library is
	if handle == nil {
		return d
	}
	find := func(symbol string) unsafe.Pointer {
		s := C.CString(symbol)
		defer C.free(unsafe.Pointer(s))
		return C.dlsym(handle, s)
	}
	for i, f := range [3]function{fnComputeProcesses, fnGraphicsProcesses, fnMPSProcesses} {
		names := symbols[f][1:]
		for n, symbol := range names {
			if p := find(symbol); p != nil {
				d.processes[i], d.old[i] = p, n == len(names)-1
				break
			}
		}
	}
	d.samples = find(fnSamplesGeneral.symbol())
	d.usages = find(fnProcessUtilization.symbol())
	d.gpmAlloc, d.gpmFree = find(fnGPMAlloc.symbol()), find(fnGPMFree.symbol())
	d.gpmSample, d.gpmMetrics = find(fnGPMSample.symbol()), find(fnGPMMetrics.symbol())
	return d
}

// pointer is the C handle in a device of the binding.
func pointer(device gonvml.Device) unsafe.Pointer {
	v := reflect.ValueOf(device)
	if v.Kind() != reflect.Struct || v.NumField() != 1 || v.Field(0).Kind() != reflect.Pointer {
		return nil
	}
	return v.Field(0).UnsafePointer()
}

// room keeps the memory into which lists are read.
type room struct {
	processes []gonvml.ProcessInfo
	old       []gonvml.ProcessInfo_v1
	samples   []sample
	usages    []gonvml.ProcessUtilizationSample
}

// grow makes room for what the library said there is, and some more.
func grow[T any](s []T, need C.uint) []T {
	n := max(firstRoom, 2*len(s), int(need)+int(need)/4)
	return make([]T, min(n, mostRoom))
}

// list reads one of the lists of processes. The result is valid until the next call.
func (r *room) list(d *direct, which int, device unsafe.Pointer) ([]gonvml.ProcessInfo, code) {
	if d.old[which] {
		return r.oldList(d, which, device)
	}
	var need C.uint
	for range 4 {
		if len(r.processes) == 0 || int(need) > len(r.processes) {
			r.processes = grow(r.processes, need)
		}
		n := C.uint(len(r.processes))
		ret := code(C.gpurecv_processes(d.processes[which], device, &n, unsafe.Pointer(&r.processes[0])))
		if ret == codeOK {
			return r.processes[:min(int(n), len(r.processes))], ret
		}
		if ret != codeInsufficientSize {
			return nil, ret
		}
		need = max(n, C.uint(len(r.processes))+1)
	}
	return nil, codeInsufficientSize
}

func (r *room) oldList(d *direct, which int, device unsafe.Pointer) ([]gonvml.ProcessInfo, code) {
	var need C.uint
	for range 4 {
		if len(r.old) == 0 || int(need) > len(r.old) {
			r.old = grow(r.old, need)
		}
		n := C.uint(len(r.old))
		ret := code(C.gpurecv_processes(d.processes[which], device, &n, unsafe.Pointer(&r.old[0])))
		if ret == codeOK {
			r.processes = r.processes[:0]
			for _, p := range r.old[:min(int(n), len(r.old))] {
				r.processes = append(r.processes, gonvml.ProcessInfo{
					Pid: p.Pid, UsedGpuMemory: p.UsedGpuMemory,
					GpuInstanceId: notAvailableInstanceID, ComputeInstanceId: notAvailableInstanceID,
				})
			}
			return r.processes, ret
		}
		if ret != codeInsufficientSize {
			return nil, ret
		}
		need = max(n, C.uint(len(r.old))+1)
	}
	return nil, codeInsufficientSize
}

// sampleList reads the samples of an engine that are newer than a time, 0 for all. The result is valid until the next call.
func (r *room) sampleList(
	d *direct, device unsafe.Pointer, kind gonvml.SamplingType, since uint64,
) (samples []sample, valueType uint32, ret code) {
	var (
		n C.uint
		t C.int
	)
	if since == 0 || len(r.samples) == 0 {
		// How many the driver keeps.
		ret = code(C.gpurecv_samples(d.samples, device, C.int(kind), 0, &t, &n, nil))
		if ret != codeOK {
			return nil, 0, ret
		}
		if int(n) > len(r.samples) {
			r.samples = grow(r.samples, n)
		}
	}
	n = C.uint(len(r.samples))
	ret = code(C.gpurecv_samples(d.samples, device, C.int(kind), C.ulonglong(since), &t, &n, unsafe.Pointer(&r.samples[0])))
	if ret != codeOK {
		return nil, 0, ret
	}
	if int(n) >= len(r.samples) && len(r.samples) < mostRoom {
		defer func() { r.samples = grow(r.samples, n) }() // it may have more than there was room for
	}
	return r.samples[:min(int(n), len(r.samples))], uint32(t), ret
}

// usageList reads the samples of the processes that are newer than a time. The result is valid until the next call.
func (r *room) usageList(d *direct, device unsafe.Pointer, since uint64) ([]gonvml.ProcessUtilizationSample, code) {
	var need C.uint
	for range 4 {
		if len(r.usages) == 0 || int(need) > len(r.usages) {
			r.usages = grow(r.usages, need)
		}
		n := C.uint(len(r.usages))
		ret := code(C.gpurecv_usages(d.usages, device, unsafe.Pointer(&r.usages[0]), &n, C.ulonglong(since)))
		if ret == codeOK {
			return r.usages[:min(int(n), len(r.usages))], ret
		}
		if ret != codeInsufficientSize {
			return nil, ret
		}
		need = max(n, C.uint(len(r.usages))+1)
	}
	return nil, codeInsufficientSize
}
