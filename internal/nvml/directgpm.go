// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

/*
#include <stdlib.h>

// nvmlGpmMetricsGet_t, version 1.
struct gpurecv_gpm {
	unsigned int version, count;
	void *earlier, *later;
	struct {
		unsigned int id;
		int ret;
		double value;
		char *names[3];
	} metrics[333];
};

#cgo nocallback gpurecv_gpm_sample
static int gpurecv_gpm_sample(void *f, void *device, void *sample)
{
	return ((int (*)(void *, void *))f)(device, sample);
}

#cgo nocallback gpurecv_gpm_metrics
static int gpurecv_gpm_metrics(void *f, struct gpurecv_gpm *request)
{
	return ((int (*)(struct gpurecv_gpm *))f)(request);
}

#cgo noescape gpurecv_gpm_alloc
#cgo nocallback gpurecv_gpm_alloc
static int gpurecv_gpm_alloc(void *f, void **sample) { return ((int (*)(void **))f)(sample); }

#cgo nocallback gpurecv_gpm_free
static int gpurecv_gpm_free(void *f, void *sample) { return ((int (*)(void *))f)(sample); }
*/
import "C"

import "unsafe"

// gpmRequest is what GPM's metrics are asked with. It is C's memory, of 13 KB, so that nothing of it is copied or checked.
type gpmRequest struct{ c *C.struct_gpurecv_gpm }

func newGPMRequest() gpmRequest {
	r := gpmRequest{(*C.struct_gpurecv_gpm)(C.calloc(1, C.sizeof_struct_gpurecv_gpm))}
	r.c.version = 1
	return r
}

func (r *gpmRequest) free() {
	if r.c != nil {
		C.free(unsafe.Pointer(r.c))
		r.c = nil
	}
}

// metrics has the driver compare two samples. The values are in the order of gpmPipes, in percent, and
// of gpmTraffic where it is asked for.
func (r *gpmRequest) metrics(d *direct, earlier, later unsafe.Pointer, traffic bool) code {
	r.c.earlier, r.c.later = earlier, later
	r.c.count = C.uint(len(gpmPipes))
	if traffic {
		r.c.count += C.uint(len(gpmTraffic))
	}
	for i := range gpmPipes {
		r.c.metrics[i].id = C.uint(gpmPipes[i].id)
	}
	for i, id := range gpmTraffic {
		r.c.metrics[len(gpmPipes)+i].id = C.uint(id)
	}
	return code(C.gpurecv_gpm_metrics(d.gpmMetrics, r.c))
}

func (r *gpmRequest) value(i int) (float64, bool) {
	m := &r.c.metrics[i]
	return float64(m.value), m.ret == 0
}

func (d *direct) allocSample() (unsafe.Pointer, code) {
	var sample unsafe.Pointer
	ret := C.gpurecv_gpm_alloc(d.gpmAlloc, &sample) //nolint:gocritic // what cgo makes of it
	return sample, code(ret)
}

func (d *direct) freeSample(sample unsafe.Pointer) { C.gpurecv_gpm_free(d.gpmFree, sample) }

func (d *direct) takeSample(device, sample unsafe.Pointer) code {
	return code(C.gpurecv_gpm_sample(d.gpmSample, device, sample))
}
