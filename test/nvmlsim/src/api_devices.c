/* Counts devices and finds their handles. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim.h"

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    BEGIN(nvmlDeviceGetCount_v2);
    REQUIRE(deviceCount);
    *deviceCount = call.snap->visible;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount)
{
    BEGIN(nvmlDeviceGetCount);
    REQUIRE(deviceCount);
    *deviceCount = call.snap->visible;
    END(NVML_SUCCESS);
}

static nvmlReturn_t by_index(enum function fn, unsigned int index, nvmlDevice_t *device)
{
    struct call call;
    nvmlReturn_t ret;
    if (!call_begin_lookup(&call, fn, &ret)) return ret;
    if (!device || index >= call.snap->visible) return call_end_lookup(&call, NVML_ERROR_INVALID_ARGUMENT, -1, -1, device);
    return call_end_lookup(&call, NVML_SUCCESS, (int)call.snap->order[index], -1, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return by_index(FN_nvmlDeviceGetHandleByIndex, index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return by_index(FN_nvmlDeviceGetHandleByIndex_v2, index, device);
}

/* The first device, GPU or MIG device, that `is` accepts. */
static nvmlReturn_t find(enum function fn, const char *key, nvmlDevice_t *device,
                         bool (*is)(const struct gpu *, const struct mig *, const char *))
{
    struct call call;
    nvmlReturn_t ret;
    if (!call_begin_lookup(&call, fn, &ret)) return ret;
    if (!key || !device) return call_end_lookup(&call, NVML_ERROR_INVALID_ARGUMENT, -1, -1, device);
    for (unsigned slot = 0; slot < call.snap->ngpus; slot++) {
        const struct gpu *gpu = &call.snap->gpus[slot];
        if (!gpu->present) continue;
        if (is(gpu, NULL, key)) return call_end_lookup(&call, NVML_SUCCESS, (int)slot, -1, device);
        for (int i = 0; gpu->mig_mode > 0 && i < MAX_MIGS; i++)
            if (gpu->mig[i].present && is(gpu, &gpu->mig[i], key))
                return call_end_lookup(&call, NVML_SUCCESS, (int)slot, i, device);
    }
    return call_end_lookup(&call, NVML_ERROR_NOT_FOUND, -1, -1, device);
}

static bool has_uuid(const struct gpu *gpu, const struct mig *mig, const char *key)
{
    return !strcmp(mig ? mig->uuid : gpu->uuid, key);
}

static bool has_serial(const struct gpu *gpu, const struct mig *mig, const char *key)
{
    return !mig && !strcmp(gpu->serial, key);
}

static bool has_bus(const struct gpu *gpu, const struct mig *mig, const char *key)
{
    unsigned domain, bus, device;
    if (mig) return false;
    if (sscanf(key, "%x:%x:%x", &domain, &bus, &device) != 3) {
        domain = 0;
        if (sscanf(key, "%x:%x", &bus, &device) != 2) return false;
    }
    return domain == gpu->domain && bus == gpu->bus && device == gpu->device;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    return find(FN_nvmlDeviceGetHandleByUUID, uuid, device, has_uuid);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    return find(FN_nvmlDeviceGetHandleBySerial, serial, device, has_serial);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device)
{
    return find(FN_nvmlDeviceGetHandleByPciBusId, pciBusId, device, has_bus);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    return find(FN_nvmlDeviceGetHandleByPciBusId_v2, pciBusId, device, has_bus);
}
