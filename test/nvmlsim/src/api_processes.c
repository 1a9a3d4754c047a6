/* The process lists, in the structures of each version, and the utilization per process. */
#include <math.h>
#include <string.h>

#include "sim.h"

/* ---- lists ----------------------------------------------------------------------------------------------------- */

static unsigned long long memory_of(const struct process *p, double t)
{
    if (p->memory.kind == S_RAW) return p->memory.raw;
    if (p->memory.kind == S_ERROR) return (unsigned long long)NVML_VALUE_NOT_AVAILABLE;
    double bytes = series_at(&p->memory, t);
    return bytes > 0 ? (unsigned long long)bytes : 0;
}

static bool listed(const struct call *call, const struct process *p, char type, double t)
{
    if (!p->listed || p->type != type || !process_alive(p, t)) return false;
    /* A MIG device lists its own; the GPU lists all of them. */
    return !call->mig || p->mig == (int)(call->mig - call->gpu->mig);
}

/* `write` stores one entry in the caller's array, whose layout depends on the function's version. */
static nvmlReturn_t list(struct call *call, char type, unsigned int *count, void *infos,
                         void (*write)(void *infos, unsigned i, unsigned pid, unsigned long long memory, unsigned gi, unsigned ci))
{
    if (!count || (*count && !infos)) return NVML_ERROR_INVALID_ARGUMENT;
    double t = call_time(call);
    const struct gpu *gpu = call->gpu;
    unsigned room = *count, n = 0;
    for (unsigned i = 0; i < gpu->nprocesses; i++)
        n += listed(call, &gpu->processes[i], type, t);
    *count = n;
    if (n > room) {
        call->quiet = room == 0; /* a size query */
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    n = 0;
    for (unsigned i = 0; i < gpu->nprocesses; i++) {
        const struct process *p = &gpu->processes[i];
        if (!listed(call, p, type, t)) continue;
        const struct mig *mig = gpu->mig_mode > 0 && p->mig >= 0 ? &gpu->mig[p->mig] : NULL;
        write(infos, n++, p->pid, memory_of(p, t), mig ? mig->gi : ~0u, mig ? mig->ci : ~0u);
    }
    return NVML_SUCCESS;
}

static void write_v1(void *infos, unsigned i, unsigned pid, unsigned long long memory, unsigned gi, unsigned ci)
{
    (void)gi, (void)ci;
    ((nvmlProcessInfo_v1_t *)infos)[i] = (nvmlProcessInfo_v1_t){.pid = pid, .usedGpuMemory = memory};
}

static void write_v2(void *infos, unsigned i, unsigned pid, unsigned long long memory, unsigned gi, unsigned ci)
{
    ((nvmlProcessInfo_v2_t *)infos)[i] =
        (nvmlProcessInfo_v2_t){.pid = pid, .usedGpuMemory = memory, .gpuInstanceId = gi, .computeInstanceId = ci};
}

/*
 * Drivers 535.43 to 535.86 write entries of 32 bytes under this version, for which callers have 24; entries of the first version's
 * 16 bytes have been seen under it too. The scenario says which.
 */
static void write_wide(void *infos, unsigned i, unsigned pid, unsigned long long memory, unsigned gi, unsigned ci)
{
    struct { nvmlProcessInfo_v2_t info; unsigned long long protected_memory; } *wide = infos;
    wide[i].info = (nvmlProcessInfo_v2_t){.pid = pid, .usedGpuMemory = memory, .gpuInstanceId = gi, .computeInstanceId = ci};
    wide[i].protected_memory = 0;
}

#define LIST_V3(function, kind)                                                                              \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos)            \
    {                                                                                                        \
        BEGIN_DEVICE(function, device);                                                                      \
        int entry = call.gpu->process_entry;                                                                 \
        END(list(&call, kind, infoCount, infos, entry == 32 ? write_wide : entry == 16 ? write_v1 : write_v2)); \
    }

#define LIST(function, kind, type, write)                                               \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *infoCount, type *infos)    \
    {                                                                                   \
        BEGIN_DEVICE(function, device);                                                 \
        END(list(&call, kind, infoCount, infos, write));                                \
    }
LIST(nvmlDeviceGetComputeRunningProcesses, 'C', nvmlProcessInfo_v1_t, write_v1)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, 'C', nvmlProcessInfo_v2_t, write_v2)
LIST_V3(nvmlDeviceGetComputeRunningProcesses_v3, 'C')
LIST(nvmlDeviceGetGraphicsRunningProcesses, 'G', nvmlProcessInfo_v1_t, write_v1)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, 'G', nvmlProcessInfo_v2_t, write_v2)
LIST_V3(nvmlDeviceGetGraphicsRunningProcesses_v3, 'G')
LIST(nvmlDeviceGetMPSComputeRunningProcesses, 'M', nvmlProcessInfo_v1_t, write_v1)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, 'M', nvmlProcessInfo_v2_t, write_v2)
LIST_V3(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'M')

static void write_detail(void *infos, unsigned i, unsigned pid, unsigned long long memory, unsigned gi, unsigned ci)
{
    ((nvmlProcessDetail_v1_t *)infos)[i] = (nvmlProcessDetail_v1_t){
        .pid = pid, .usedGpuMemory = memory, .gpuInstanceId = gi, .computeInstanceId = ci,
        .usedGpuCcProtectedMemory = (unsigned long long)NVML_VALUE_NOT_AVAILABLE};
}

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *plist)
{
    BEGIN_DEVICE(nvmlDeviceGetRunningProcessDetailList, device);
    REQUIRE(plist);
    if (plist->version != nvmlProcessDetailList_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    REQUIRE(plist->mode < NVML_PROCESS_MODE_ALL);
    END(list(&call, "CGM"[plist->mode], &plist->numProcArrayEntries, plist->procArray, write_detail));
}

/* ---- utilization ----------------------------------------------------------------------------------------------- */

struct sample {
    unsigned pid, sm, mem, enc, dec, jpg, ofa;
    unsigned long long timestamp;
};

static unsigned percent(const struct series *s, double t)
{
    double v = series_at(s, t);
    return s->kind == S_RAW ? (unsigned)s->raw : v > 100 ? 100 : v > 0 ? (unsigned)(v + 0.5) : 0;
}

/*
 * The driver samples on its own clock, independent of the callers. A process has an entry for its newest sample (or the
 * scenario's process.samples newest) with non-zero utilization, also after it ended, while that sample is in the
 * buffer.
 */
static unsigned samples_of(const struct gpu *gpu, const struct process *p, double t, unsigned long long after,
                           struct sample *out, unsigned room)
{
    double newest = floor(t / gpu->sample_period), oldest = newest - gpu->sample_count;
    unsigned n = 0, tried = 0;
    for (double k = newest; k > oldest && tried < (unsigned)gpu->process_samples; k--) {
        double at = k * gpu->sample_period;
        if (at < 0 || call_timestamp(at) <= after) break;
        if (!process_alive(p, at)) continue;
        tried++;
        struct sample s = {.pid = p->pid, .sm = percent(&p->sm, at), .mem = percent(&p->mem, at), .enc = percent(&p->enc, at),
                           .dec = percent(&p->dec, at), .jpg = percent(&p->jpg, at), .ofa = percent(&p->ofa, at),
                           .timestamp = call_timestamp(at)};
        if (!(s.sm | s.mem | s.enc | s.dec | s.jpg | s.ofa)) continue;
        if (n < room) out[n] = s;
        n++;
    }
    return n;
}

/* All samples newer than `after`: their number, and the first `room` of them. */
static unsigned collect(struct call *call, unsigned long long after, unsigned room,
                        void (*write)(void *array, unsigned i, const struct sample *s), void *array)
{
    double t = call_time(call);
    unsigned n = 0;
    for (unsigned i = 0; i < call->gpu->nprocesses; i++) {
        const struct process *p = &call->gpu->processes[i];
        if (!p->sampled) continue;
        struct sample s[100];
        unsigned found = samples_of(call->gpu, p, t, after, s, 100);
        for (unsigned j = 0; j < found && j < 100; j++, n++)
            if (n < room) write(array, n, &s[j]);
    }
    return n;
}

static void write_sample(void *array, unsigned i, const struct sample *s)
{
    ((nvmlProcessUtilizationSample_t *)array)[i] = (nvmlProcessUtilizationSample_t){
        .pid = s->pid, .timeStamp = s->timestamp, .smUtil = s->sm, .memUtil = s->mem, .encUtil = s->enc, .decUtil = s->dec};
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *utilization,
                                             unsigned int *processSamplesCount, unsigned long long lastSeenTimeStamp)
{
    BEGIN_DEVICE(nvmlDeviceGetProcessUtilization, device);
    REQUIRE(processSamplesCount);
    unsigned room = utilization ? *processSamplesCount : 0;
    unsigned n = collect(&call, lastSeenTimeStamp, room, write_sample, utilization);
    call.quiet = n == 0 || !utilization;
    if (n == 0) END(NVML_ERROR_NOT_FOUND);
    *processSamplesCount = n + (utilization ? 0 : (unsigned)call.gpu->process_slack);
    END(n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

static void write_info(void *array, unsigned i, const struct sample *s)
{
    ((nvmlProcessUtilizationInfo_v1_t *)array)[i] = (nvmlProcessUtilizationInfo_v1_t){
        .timeStamp = s->timestamp, .pid = s->pid, .smUtil = s->sm, .memUtil = s->mem,
        .encUtil = s->enc, .decUtil = s->dec, .jpgUtil = s->jpg, .ofaUtil = s->ofa};
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t *procesesUtilInfo)
{
    BEGIN_DEVICE(nvmlDeviceGetProcessesUtilizationInfo, device);
    nvmlProcessesUtilizationInfo_t *info = procesesUtilInfo;
    REQUIRE(info);
    if (info->version != nvmlProcessesUtilizationInfo_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    unsigned room = info->procUtilArray ? info->processSamplesCount : 0;
    unsigned n = collect(&call, info->lastSeenTimeStamp, room, write_info, info->procUtilArray);
    call.quiet = n == 0 || !info->procUtilArray;
    if (n == 0) END(NVML_ERROR_NOT_FOUND);
    info->processSamplesCount = n + (info->procUtilArray ? 0 : (unsigned)call.gpu->process_slack);
    END(n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}
