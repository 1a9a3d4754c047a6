/* The beginning and end of every call: counting, finding its device, applying the faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvmlsim.h"
#include "sim.h"

const struct function_info sim_functions[FN_COUNT] = {
#define FN(name, since, takes) {#name, TAKES_##takes},
#include "functions.def"
#undef FN
};

static atomic_ullong counts[FN_COUNT], errors[FN_COUNT], nanoseconds[FN_COUNT];
atomic_ullong sim_inside;

#define ONE_INSIDE UINT64_C(1)
#define ONE_WAITING (UINT64_C(1) << 32)

/* ---- handles --------------------------------------------------------------------------------------------------- */

static struct nvmlDevice_st handles[MAX_GPUS][1 + MAX_MIGS];

nvmlDevice_t handle_of(int slot, int mig)
{
    return (nvmlDevice_t){.handle = &handles[slot][1 + mig]};
}

/* Any pointer is possible: an unknown one is an invalid argument, not a crash. */
bool handle_resolve(nvmlDevice_t device, int *slot, int *mig)
{
    uintptr_t offset = (uintptr_t)device.handle - (uintptr_t)&handles[0][0];
    if (offset >= sizeof handles || offset % sizeof **handles) return false;
    size_t i = offset / sizeof **handles;
    *slot = (int)(i / (1 + MAX_MIGS));
    *mig = (int)(i % (1 + MAX_MIGS)) - 1;
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

void call_enter(struct call *c, enum function fn)
{
    *c = (struct call){.fn = fn};
    atomic_fetch_add_explicit(&counts[fn], 1, memory_order_relaxed);
    /* Sequentially consistent, as is the swap of the snapshot: see calls_reading. */
    atomic_fetch_add(&sim_inside, ONE_INSIDE);
    c->snap = engine_ready() ? engine_snapshot() : NULL;
}

/* Counts the time that a real driver would have taken, and takes it if the scenario says so. */
static void spend(struct call *c)
{
    const struct cost *cost = &c->snap->cost;
    uint64_t ns = cost->functions[c->fn] + c->cost;
    if (!ns) return;
    atomic_fetch_add_explicit(&nanoseconds[c->fn], ns, memory_order_relaxed);
    if (cost->wait != COST_COUNTED) pause_seconds((double)ns * 1e-9, cost->wait == COST_BUSY);
}

nvmlReturn_t call_end(struct call *c, nvmlReturn_t ret)
{
    if (c->snap) spend(c);
    if (ret != NVML_SUCCESS && !c->quiet) atomic_fetch_add_explicit(&errors[c->fn], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&sim_inside, ONE_INSIDE, memory_order_release);
    return ret;
}

bool call_begin(struct call *c, enum function fn, nvmlReturn_t *ret)
{
    call_enter(c, fn);
    *ret = c->snap ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (c->snap && c->snap->hot[fn]) *ret = fault_check(c, -1, -1, false);
    if (*ret == NVML_SUCCESS) return true;
    call_end(c, *ret);
    return false;
}

/*
 * Functions that return a handle find their GPU only while they run, so they check the faults last: then those of that
 * GPU apply as well.
 */
bool call_begin_lookup(struct call *c, enum function fn, nvmlReturn_t *ret)
{
    call_enter(c, fn);
    *ret = NVML_ERROR_UNINITIALIZED;
    if (c->snap) return true;
    call_end(c, *ret);
    return false;
}

nvmlReturn_t call_end_lookup(struct call *c, nvmlReturn_t ret, int slot, int mig, nvmlDevice_t *out)
{
    if (c->snap->hot[c->fn]) {
        nvmlReturn_t fault = fault_check(c, slot, mig, true);
        if (fault != NVML_SUCCESS) ret = fault;
    }
    if (ret == NVML_SUCCESS) *out = handle_of(slot, mig);
    return call_end(c, ret);
}

static nvmlReturn_t find_device(struct call *c, int slot, int mig)
{
    if ((unsigned)slot >= c->snap->ngpus) return NVML_ERROR_INVALID_ARGUMENT;
    const struct gpu *gpu = &c->snap->gpus[slot];
    enum takes takes = sim_functions[c->fn].takes;
    c->gpu = gpu;
    c->v = gpu->v;
    if (!gpu->present) return NVML_ERROR_GPU_IS_LOST; /* removed from the bus after its handle was given out */
    if (takes == TAKES_MIG && mig < 0) return NVML_ERROR_NOT_SUPPORTED;
    if (takes == TAKES_BUSY && gpu->mig_mode > 0) return NVML_ERROR_NOT_SUPPORTED;
    if (mig < 0) return NVML_SUCCESS;
    if (takes == TAKES_GPU) return NVML_ERROR_NOT_SUPPORTED;
    c->mig = &gpu->mig[mig];
    c->v = c->mig->v;
    /* A MIG device that was destroyed: its handle is no longer valid. */
    return gpu->mig_mode > 0 && c->mig->present ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

bool call_begin_device(struct call *c, enum function fn, nvmlDevice_t device, nvmlReturn_t *ret)
{
    int slot, mig;
    call_enter(c, fn);
    *ret = NVML_SUCCESS;
    if (!c->snap) *ret = NVML_ERROR_UNINITIALIZED;
    else if (!handle_resolve(device, &slot, &mig)) *ret = NVML_ERROR_INVALID_ARGUMENT;
    else {
        if (c->snap->hot[fn]) *ret = fault_check(c, slot, mig, false);
        /* A call that hung continues with the state at that time. */
        if (*ret == NVML_SUCCESS) *ret = find_device(c, slot, mig);
    }
    if (*ret == NVML_SUCCESS) return true;
    call_end(c, *ret);
    return false;
}

double call_time(struct call *c)
{
    if (!c->timed) c->t = engine_time(c->snap);
    c->timed = true;
    return c->t;
}

unsigned long long call_timestamp(double t)
{
    return engine_epoch_us() + (unsigned long long)(long long)(t * 1e6);
}

void call_block(struct call *c)
{
    c->snap = NULL;
    c->gpu = NULL;
    c->v = NULL;
    c->mig = NULL;
    c->timed = false;
    atomic_fetch_add_explicit(&sim_inside, ONE_WAITING, memory_order_release);
}

void call_unblock(struct call *c)
{
    atomic_fetch_sub(&sim_inside, ONE_WAITING);
    c->snap = engine_snapshot();
}

/*
 * Reports whether a call may still hold an old snapshot. Calls that entered before the swap are counted here; calls
 * that enter after it find the new one. So once this is false after a swap, no call has the old one.
 */
bool calls_reading(void)
{
    uint64_t inside = atomic_load(&sim_inside);
    return (uint32_t)inside != (uint32_t)(inside >> 32);
}

/* ---- what tests ask -------------------------------------------------------------------------------------------- */

static int function_by_name(const char *name)
{
    for (int fn = 0; fn < FN_COUNT; fn++)
        if (!strcmp(sim_functions[fn].name, name)) return fn;
    return -1;
}

static unsigned long long sum(atomic_ullong *counters)
{
    unsigned long long total = 0;
    for (int fn = 0; fn < FN_COUNT; fn++)
        total += atomic_load_explicit(&counters[fn], memory_order_relaxed);
    return total;
}

unsigned long long nvmlsimCallCount(const char *function)
{
    int fn = function_by_name(function);
    return fn < 0 ? 0 : atomic_load_explicit(&counts[fn], memory_order_relaxed);
}

unsigned long long nvmlsimErrorCount(const char *function)
{
    int fn = function_by_name(function);
    return fn < 0 ? 0 : atomic_load_explicit(&errors[fn], memory_order_relaxed);
}

unsigned long long nvmlsimDriverTime(const char *function)
{
    int fn = function_by_name(function);
    return fn < 0 ? 0 : atomic_load_explicit(&nanoseconds[fn], memory_order_relaxed);
}

unsigned long long nvmlsimTotalDriverTime(void)
{
    return sum(nanoseconds);
}

unsigned long long nvmlsimTotalCalls(void)
{
    return sum(counts);
}

unsigned long long nvmlsimTotalErrors(void)
{
    return sum(errors);
}

void nvmlsimResetCalls(void)
{
    for (int fn = 0; fn < FN_COUNT; fn++) {
        atomic_store_explicit(&counts[fn], 0, memory_order_relaxed);
        atomic_store_explicit(&errors[fn], 0, memory_order_relaxed);
        atomic_store_explicit(&nanoseconds[fn], 0, memory_order_relaxed);
    }
}

unsigned int nvmlsimOutstanding(void)
{
    return (uint32_t)atomic_load(&sim_inside);
}

unsigned int nvmlsimWaiting(void)
{
    return (uint32_t)(atomic_load(&sim_inside) >> 32);
}

/* For a test of another process: NVMLSIM_STATS names a file that is written at every ack and at the last shutdown. */
void stats_write(void)
{
    const char *path = getenv("NVMLSIM_STATS");
    if (!path || !*path) return;
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *file = fopen(temporary, "w");
    if (!file) return;
    fprintf(file, "outstanding %u 0\n", nvmlsimOutstanding());
    for (int fn = 0; fn < FN_COUNT; fn++) {
        unsigned long long n = atomic_load_explicit(&counts[fn], memory_order_relaxed);
        if (n) fprintf(file, "%s %llu %llu\n", sim_functions[fn].name, n, atomic_load_explicit(&errors[fn], memory_order_relaxed));
    }
    if (fclose(file) == 0) rename(temporary, path);
}
