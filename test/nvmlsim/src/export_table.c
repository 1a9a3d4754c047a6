/*
 * nvidia-smi requests a table of functions that are in no header from the library. This file provides enough of it for
 * Debian's nvidia-smi 535 to run, as a second opinion on the receiver's reads (../../nvidiatool). The positions and
 * signatures were found by observing that program's calls; all others return "not supported".
 */
#include <string.h>

#include "sim.h"

#define TABLE_SLOTS 256
#define SLOT_HANDLE_FLAGS 0x22 /* third argument of "handle by index" */
#define SLOT_VISIBLE 72        /* whether the GPU is to be shown */
#define SLOT_COMPUTE 213       /* processes with their names, in the caller's buffer */
#define SLOT_GRAPHICS 215

struct named_process {
    unsigned pid, pad;
    unsigned long long memory;
    unsigned gi, ci, more[2];
    char name[4096];
};

static bool known(void *p)
{
    int slot, mig;
    return handle_resolve((nvmlDevice_t){p}, &slot, &mig);
}

typedef nvmlReturn_t list_function(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *);

static nvmlReturn_t processes(list_function *of, nvmlDevice_t device, unsigned *count, struct named_process *out)
{
    nvmlProcessInfo_t list[512];
    unsigned room = *count, n = sizeof list / sizeof *list;
    *count = 0;
    nvmlReturn_t ret = of(device, &n, list);
    if (ret != NVML_SUCCESS) return ret;
    if (n > room) n = room;
    for (unsigned i = 0; i < n; i++) {
        out[i] = (struct named_process){.pid = list[i].pid, .memory = list[i].usedGpuMemory,
                                        .gi = list[i].gpuInstanceId, .ci = list[i].computeInstanceId};
        nvmlSystemGetProcessName(list[i].pid, out[i].name, sizeof out[i].name);
    }
    *count = n;
    return NVML_SUCCESS;
}

static int answer(unsigned slot, void *a, void *b, void *c)
{
    if ((uintptr_t)a < MAX_GPUS && b && (uintptr_t)c == SLOT_HANDLE_FLAGS)
        return nvmlDeviceGetHandleByIndex_v2((unsigned)(uintptr_t)a, b);
    if (!known(a) || !b) return NVML_SUCCESS; /* of the system, or of none of our devices */
    static list_function *const lists[] = {
        nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetMPSComputeRunningProcesses_v3,
        nvmlDeviceGetGraphicsRunningProcesses_v3,
    };
    if (slot >= SLOT_COMPUTE && slot <= SLOT_GRAPHICS && (uintptr_t)c > 0x10000)
        return processes(lists[slot - SLOT_COMPUTE], (nvmlDevice_t){a}, b, c);
    if (slot == SLOT_VISIBLE) {
        *(unsigned *)b = 1;
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

#define SLOT(n) static int slot_##n(void *a, void *b, void *c) { return answer(0x##n, a, b, c); }
#define EACH(row, X) X(row##0) X(row##1) X(row##2) X(row##3) X(row##4) X(row##5) X(row##6) X(row##7) \
                     X(row##8) X(row##9) X(row##a) X(row##b) X(row##c) X(row##d) X(row##e) X(row##f)
#define ALL(X) EACH(0, X) EACH(1, X) EACH(2, X) EACH(3, X) EACH(4, X) EACH(5, X) EACH(6, X) EACH(7, X) \
               EACH(8, X) EACH(9, X) EACH(a, X) EACH(b, X) EACH(c, X) EACH(d, X) EACH(e, X) EACH(f, X)
ALL(SLOT)

#define ENTRY(n) (const void *)slot_##n,
static const void *const table[TABLE_SLOTS] = {ALL(ENTRY)};

nvmlReturn_t nvmlInternalGetExportTable(const void **out, const void *id);
nvmlReturn_t nvmlInternalGetExportTable(const void **out, const void *id)
{
    (void)id; /* there are several tables; one is enough for all */
    static const void *sized[TABLE_SLOTS];
    memcpy(sized, table, sizeof table);
    sized[0] = (const void *)(uintptr_t)0x1000; /* its size, in bytes */
    *out = sized;
    return NVML_SUCCESS;
}
