// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
*/
import "C"

import (
	"reflect"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// The binding makes one step into C for each call, with memory for what is filled in; it asks for each list twice, with room
// for one entry or none at first, and it panics where a list of samples grows in between; for GPM it copies 13 KB four times.
// A node is asked some thirty things of each GPU. So what a steady read consists of is called here, by the pointers that the
// loader gives for it, all at once and into room that is kept.

// direct are the functions that are called without the binding; nil where the library lacks one.
type direct struct {
	functions [numFunctions]unsafe.Pointer // those that have a shape
	entry     [3]int                       // bytes of an entry of compute, graphics, MPS, as its version says

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
	for f := range numFunctions {
		if shapes[f].shape == 0 {
			continue
		}
		names := symbols[f][1:]
		for n, symbol := range names {
			if d.functions[f] = find(symbol); d.functions[f] == nil {
				continue
			}
			if shapes[f].shape == shapeList {
				d.entry[f-fnComputeProcesses] = entrySecond
				if n == len(names)-1 {
					d.entry[f-fnComputeProcesses] = entryFirst
				}
			}
			break
		}
	}
	d.gpmAlloc, d.gpmFree = find(fnGPMAlloc.symbol()), find(fnGPMFree.symbol())
	d.gpmSample, d.gpmMetrics = find(fnGPMSample.symbol()), find(fnGPMMetrics.symbol())
	return d
}

// confine takes away what is only called directly and was not found. That may only be where the loader gives no library by
// the name under which it has one.
func (d *direct) confine(has *[numFunctions]bool) {
	for f := range numFunctions {
		has[f] = has[f] && (shapes[f].shape == 0 || d.functions[f] != nil)
	}
	for f, p := range map[function]unsafe.Pointer{
		fnGPMAlloc: d.gpmAlloc, fnGPMFree: d.gpmFree, fnGPMSample: d.gpmSample, fnGPMMetrics: d.gpmMetrics,
	} {
		has[f] = has[f] && p != nil
	}
}

// pointer is the C handle in a device of the binding.
func pointer(device gonvml.Device) unsafe.Pointer {
	v := reflect.ValueOf(device)
	if v.Kind() != reflect.Struct || v.NumField() != 1 || v.Field(0).Kind() != reflect.Pointer {
		return nil
	}
	return v.Field(0).UnsafePointer()
}
