// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static int gpurecv_gpu(void *f, unsigned int index, void **device)
{
	return ((int (*)(unsigned int, void **))f)(index, device);
}

static int gpurecv_instance(void *f, void *gpu, unsigned int index, void **device)
{
	return ((int (*)(void *, unsigned int, void **))f)(gpu, index, device);
}

static int gpurecv_processes(void *f, void *device, unsigned int *count, void *list)
{
	return ((int (*)(void *, unsigned int *, void *))f)(device, count, list);
}

static int gpurecv_samples(void *f, void *device, int engine, unsigned long long since, int *type, unsigned int *count, void *list)
{
	return ((int (*)(void *, int, unsigned long long, int *, unsigned int *, void *))f)(device, engine, since, type, count, list);
}

static int gpurecv_process_samples(void *f, void *device, void *list, unsigned int *count, unsigned long long since)
{
	return ((int (*)(void *, void *, unsigned int *, unsigned long long))f)(device, list, count, since);
}
*/
import "C"

import (
	"sync"
	"unsafe"
)

// The functions that return lists are called here and not through the binding, which
//   - panics if GetProcessUtilization's list grows between its two calls,
//   - adds empty entries if the list of GetSamples shrinks between them,
//   - reads the lists of processes into entries of 24 bytes although some drivers write 32 (process_entries.go), and calls without end
//     if the driver goes on saying that the list is too long.
//
// Handles for these calls come from the library in the same way, because the binding does not expose its own.

// symbols finds the functions of the loaded library.
type symbols struct {
	library unsafe.Pointer // from dlopen, never closed; nil: no function is found

	mu        sync.Mutex
	addresses map[string]unsafe.Pointer
}

// newSymbols finds functions in the library of that name, which is loaded already.
func newSymbols(name string) *symbols {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	return &symbols{library: C.dlopen(path, C.RTLD_LAZY), addresses: map[string]unsafe.Pointer{}}
}

// find returns the newest version of a function; nil if the library exports none of them.
func (s *symbols) find(f *Function) unsafe.Pointer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, symbol := range f.Symbols {
		if p := s.lookUp(symbol); p != nil {
			return p
		}
	}
	return nil
}

func (s *symbols) lookUp(symbol string) unsafe.Pointer {
	p, known := s.addresses[symbol]
	if !known && s.library != nil {
		name := C.CString(symbol)
		defer C.free(unsafe.Pointer(name))
		p = C.dlsym(s.library, name)
		s.addresses[symbol] = p
	}
	return p
}

// listHandle is a device handle as C has it.
type listHandle struct {
	symbols *symbols
	device  unsafe.Pointer
}

// gpu gets the handle of a GPU. One that it does not get is nil, and calls with it fail.
func (s *symbols) gpu(index int) (h listHandle, code Code) {
	h.symbols = s
	f := s.find(handleByIndex)
	if f == nil {
		return h, FunctionNotFound
	}
	return h, Code(C.gpurecv_gpu(f, C.uint(index), &h.device)) //nolint:gocritic // what cgo makes of it
}

// instance gets the handle of a MIG instance of the GPU.
func (h listHandle) instance(index int) (listHandle, Code) {
	instance := listHandle{symbols: h.symbols}
	f := h.symbols.find(MIGHandle)
	if f == nil {
		return instance, FunctionNotFound
	}
	code := C.gpurecv_instance(f, h.device, C.uint(index), &instance.device) //nolint:gocritic // what cgo makes of it
	return instance, Code(code)
}

// processes fills the list, which has room for so many entries of any length, and returns how many there are.
func (h listHandle) processes(function *Function, list []byte, room int) (int, Code) {
	f := h.symbols.find(function)
	if f == nil {
		return 0, FunctionNotFound
	}
	count := C.uint(room)
	code := C.gpurecv_processes(f, h.device, &count, unsafe.Pointer(unsafe.SliceData(list)))
	return int(count), Code(code)
}

// samples fills the list, and returns how many samples there are and the type of their values. Without a list it returns how many
// samples the driver keeps.
func (h listHandle) samples(function *Function, engine int32, since uint64, list []Sample) (n int, kind uint32, code Code) {
	f := h.symbols.find(function)
	if f == nil {
		return 0, 0, FunctionNotFound
	}
	var valueType C.int
	count := C.uint(len(list))
	code = Code(C.gpurecv_samples(f, h.device, C.int(engine), C.ulonglong(since), &valueType, &count,
		unsafe.Pointer(unsafe.SliceData(list))))
	return int(count), uint32(valueType), code
}

// processSamples fills the list, and returns how many samples there are.
func (h listHandle) processSamples(function *Function, since uint64, list []ProcessSample) (int, Code) {
	f := h.symbols.find(function)
	if f == nil {
		return 0, FunctionNotFound
	}
	count := C.uint(len(list))
	code := C.gpurecv_process_samples(f, h.device, unsafe.Pointer(unsafe.SliceData(list)), &count, C.ulonglong(since))
	return int(count), Code(code)
}
