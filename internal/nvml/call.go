// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

/*
#include <stdlib.h>

// What a function of the library takes besides the device.
enum {
	GPURECV_OUT = 1, // a pointer to what it fills in
	GPURECV_TWO_OUT, // two of them
	GPURECV_IN_OUT,  // an int, unsigned int or enum, and a pointer to what it fills in
	GPURECV_LIST,    // a pointer to the number of entries, and one to these
	GPURECV_SAMPLES, // as nvmlDeviceGetSamples
	GPURECV_USAGES,  // as nvmlDeviceGetProcessUtilization
};

struct gpurecv_call {
	void *function, *device;
	void *list; // what is filled in; NULL: the values
	unsigned long long values[5];
	unsigned long long since;
	int shape;
	int argument;
	int kind;           // of the values of samples
	unsigned int count; // of entries for which there is room, then of those there are
	int ret;
};

enum { GPURECV_CALLS = 96 };

struct gpurecv_batch {
	int ends[8]; // codes after which nothing more is called
	unsigned char order[GPURECV_CALLS];
	struct gpurecv_call calls[GPURECV_CALLS];
};

static int gpurecv_call(struct gpurecv_call *c)
{
	void *to = c->list ? c->list : c->values;

	switch (c->shape) {
	case GPURECV_OUT:
		return ((int (*)(void *, void *))c->function)(c->device, to);
	case GPURECV_TWO_OUT:
		return ((int (*)(void *, void *, void *))c->function)(c->device, &c->values[0], &c->values[1]);
	case GPURECV_IN_OUT:
		return ((int (*)(void *, int, void *))c->function)(c->device, c->argument, to);
	case GPURECV_LIST:
		return ((int (*)(void *, unsigned int *, void *))c->function)(c->device, &c->count, c->list);
	case GPURECV_SAMPLES:
		return ((int (*)(void *, int, unsigned long long, int *, unsigned int *, void *))c->function)(
			c->device, c->argument, c->since, &c->kind, &c->count, c->list);
	case GPURECV_USAGES:
		return ((int (*)(void *, void *, unsigned int *, unsigned long long))c->function)(
			c->device, c->list, &c->count, c->since);
	}
	return -1;
}

// gpurecv_run makes the first n calls of the order, and returns how many it made.
#cgo nocallback gpurecv_run
static int gpurecv_run(struct gpurecv_batch *b, int n)
{
	for (int i = 0; i < n; i++) {
		struct gpurecv_call *c = &b->calls[b->order[i]];

		c->ret = gpurecv_call(c);
		for (size_t e = 0; c->ret != 0 && e < sizeof b->ends / sizeof b->ends[0]; e++)
			if (c->ret == b->ends[e])
				return i + 1;
	}
	return n;
}
*/
import "C"

import (
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// shape is what a function takes besides the device.
type shape uint8

const (
	shapeOut     shape = C.GPURECV_OUT
	shapeTwoOut  shape = C.GPURECV_TWO_OUT
	shapeInOut   shape = C.GPURECV_IN_OUT
	shapeList    shape = C.GPURECV_LIST
	shapeSamples shape = C.GPURECV_SAMPLES
	shapeUsages  shape = C.GPURECV_USAGES
)

// call is one call of a function: what goes in and what came out.
type call C.struct_gpurecv_call

func (c *call) code() code { return code(c.ret) }

// from has samples that are newer than this asked for, in microseconds since 1970.
func (c *call) from(since uint64) { c.since = C.ulonglong(since) }

// number is the only unsigned int, int or enum that the function filled in, or the first of several.
func (c *call) number() uint32 { return *(*uint32)(unsafe.Pointer(&c.values[0])) }

// long is an unsigned long long that the function filled in.
func (c *call) long() uint64 { return uint64(c.values[0]) }

// filled is what the function filled in, which is at most 40 bytes.
func filled[T gonvml.Memory_v2 | gonvml.Memory | gonvml.MarginTemperature | gonvml.Utilization](c *call) *T {
	return (*T)(unsafe.Pointer(&c.values[0]))
}

// callBatch is the calls on a GPU, one for each function. It lies in C's memory, as do the lists that they fill: so the calls of
// a whole read are one step from Go into C, which costs as much as some of them do, and nothing has to be pinned or checked.
type callBatch struct {
	direct *direct
	c      *C.struct_gpurecv_batch

	fields    cList[gonvml.FieldValue]
	processes [3]cList[processEntry] // compute, graphics, MPS
	entry     [3]int                 // bytes of an entry of theirs; 0: not known yet
	listed    []processMemory
	samples   [numEngines]cList[sample]
	usages    cList[gonvml.ProcessUtilizationSample]
}

const _ = uint(C.GPURECV_CALLS - numFunctions) // there is a call for each

// of is the call of a function.
func (b *callBatch) of(f function) *call {
	if b.c == nil {
		b.c = (*C.struct_gpurecv_batch)(C.calloc(1, C.sizeof_struct_gpurecv_batch))
		for i, ret := range gone {
			b.c.ends[i] = C.int(ret)
		}
	}
	return (*call)(&b.c.calls[f])
}

// prepare makes a call ready to be made.
func (b *callBatch) prepare(f function, device unsafe.Pointer, argument int32) *call {
	c := b.of(f)
	c.function, c.device, c.shape = b.direct.functions[f], device, C.int(shapes[f].shape)
	c.argument = C.int(argument)
	clear(c.values[:])
	*(*uint32)(unsafe.Pointer(&c.values[0])) = shapes[f].version
	return c
}

// run makes the calls of these functions, up to one that says that the GPU or the driver is gone. It tells how many it made.
func (b *callBatch) run(order ...function) int {
	if len(order) == 0 {
		return 0
	}
	for i, f := range order {
		b.c.order[i] = C.uchar(f)
	}
	return int(C.gpurecv_run(b.c, C.int(len(order))))
}

// free must not be called while a call may be outstanding.
func (b *callBatch) free() {
	C.free(unsafe.Pointer(b.c))
	b.c = nil
	b.fields.free()
	for i := range b.processes {
		b.processes[i].free()
	}
	for i := range b.samples {
		b.samples[i].free()
	}
	b.usages.free()
}

const (
	firstRoom = 64
	mostRoom  = 1 << 16
)

// cList is room for a list in C's memory.
type cList[T any] struct {
	p    *T
	room int
	want int // more than there is room for was there
}

// ready sees to it that there is as much room as is wanted, and some more. What was in the list is lost.
func (l *cList[T]) ready() (unsafe.Pointer, C.uint) {
	if l.p == nil || l.want > l.room {
		C.free(unsafe.Pointer(l.p))
		var entry T
		l.room = min(max(firstRoom, 2*l.room, l.want+l.want/4), mostRoom)
		l.p = (*T)(C.calloc(C.size_t(l.room), C.size_t(unsafe.Sizeof(entry))))
		l.want = 0
	}
	return unsafe.Pointer(l.p), C.uint(l.room)
}

// first is the first n entries, or as many as there is room for. It is valid until the list is made ready again.
func (l *cList[T]) first(n int) []T { return unsafe.Slice(l.p, min(n, l.room)) }

func (l *cList[T]) free() {
	C.free(unsafe.Pointer(l.p))
	*l = cList[T]{}
}
