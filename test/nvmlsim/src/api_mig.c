/* Multi-instance GPUs: modes, handles of MIG devices, and their parts. */
#include <stdio.h>
#include <string.h>

#include "sim.h"

/* The handle of a GPU or compute instance is the place of its MIG device, so that it can be checked without a list. */
struct nvmlGpuInstance_st {
    unsigned char unused;
};
struct nvmlComputeInstance_st {
    unsigned char unused;
};
static struct nvmlGpuInstance_st gpu_instances[MAX_GPUS][MAX_MIGS];
static struct nvmlComputeInstance_st compute_instances[MAX_GPUS][MAX_MIGS];

static const struct mig *instance_at(const struct snapshot *snap, size_t offset, const struct gpu **gpu)
{
    size_t slot = offset / MAX_MIGS, index = offset % MAX_MIGS;
    if (slot >= snap->ngpus) return NULL;
    *gpu = &snap->gpus[slot];
    const struct mig *mig = &(*gpu)->mig[index];
    return (*gpu)->mig_mode > 0 && mig->present ? mig : NULL;
}

/* A GPU no longer reports some of its values while MIG devices exist. */
bool partitioned(const struct gpu *gpu)
{
    for (int i = 0; gpu->mig_mode > 0 && i < MAX_MIGS; i++)
        if (gpu->mig[i].present) return true;
    return false;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *currentMode, unsigned int *pendingMode)
{
    BEGIN_DEVICE(nvmlDeviceGetMigMode, device);
    const struct gpu *gpu = call.gpu;
    if (gpu->mig_mode == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(currentMode && pendingMode);
    *currentMode = (unsigned)gpu->mig_mode;
    *pendingMode = (unsigned)(gpu->mig_pending == INT32_MAX ? gpu->mig_mode : gpu->mig_pending);
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    BEGIN_DEVICE(nvmlDeviceGetMaxMigDeviceCount, device);
    REQUIRE(count);
    *count = call.gpu->mig_mode == UNSUPPORTED ? 0 : (unsigned)call.gpu->mig_max;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *migDevice)
{
    BEGIN_DEVICE(nvmlDeviceGetMigDeviceHandleByIndex, device);
    const struct gpu *gpu = call.gpu;
    if (gpu->mig_mode == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(migDevice && index < (unsigned)gpu->mig_max);
    if (index >= MAX_MIGS || gpu->mig_mode == 0 || !gpu->mig[index].present) {
        call.quiet = true; /* callers find the devices by querying index by index */
        END(NVML_ERROR_NOT_FOUND);
    }
    *migDevice = handle_of(gpu->slot, (int)index);
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice, nvmlDevice_t *device)
{
    BEGIN_DEVICE(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, migDevice);
    REQUIRE(device);
    *device = handle_of(call.gpu->slot, -1);
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *isMigDevice)
{
    BEGIN_DEVICE(nvmlDeviceIsMigDeviceHandle, device);
    REQUIRE(isMigDevice);
    *isMigDevice = call.mig != NULL;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
    BEGIN_DEVICE(nvmlDeviceGetGpuInstanceId, device);
    REQUIRE(id);
    *id = call.mig->gi;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
    BEGIN_DEVICE(nvmlDeviceGetComputeInstanceId, device);
    REQUIRE(id);
    *id = call.mig->ci;
    END(NVML_SUCCESS);
}

static nvmlReturn_t attributes(struct call *call, nvmlDeviceAttributes_t *out)
{
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    const struct mig *mig = call->mig;
    unsigned long long memory = 0;
    nvmlReturn_t ret = value_u64(call, V_MEMORY_TOTAL, &memory);
    *out = (nvmlDeviceAttributes_t){
        .multiprocessorCount = mig->multiprocessors, .sharedCopyEngineCount = mig->copy_engines,
        .sharedDecoderCount = mig->decoders, .sharedEncoderCount = mig->encoders, .sharedJpegCount = mig->jpegs,
        .sharedOfaCount = mig->ofas, .gpuInstanceSliceCount = mig->gpu_slices,
        .computeInstanceSliceCount = mig->compute_slices, .memorySizeMB = memory >> 20};
    return ret;
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *out)
{
    BEGIN_DEVICE(nvmlDeviceGetAttributes, device);
    END(attributes(&call, out));
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *out)
{
    BEGIN_DEVICE(nvmlDeviceGetAttributes_v2, device);
    END(attributes(&call, out));
}

/* ---- GPU instances and compute instances ----------------------------------------------------------------------- */

/* NVML's number of a profile with this many slices. */
static unsigned profile_of(unsigned slices)
{
    static const unsigned profiles[] = {0, NVML_GPU_INSTANCE_PROFILE_1_SLICE, NVML_GPU_INSTANCE_PROFILE_2_SLICE,
                                        NVML_GPU_INSTANCE_PROFILE_3_SLICE, NVML_GPU_INSTANCE_PROFILE_4_SLICE, 0,
                                        NVML_GPU_INSTANCE_PROFILE_6_SLICE, NVML_GPU_INSTANCE_PROFILE_7_SLICE};
    return profiles[slices < 8 ? slices : 0];
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *gpuInstance)
{
    BEGIN_DEVICE(nvmlDeviceGetGpuInstanceById, device);
    const struct gpu *gpu = call.gpu;
    if (gpu->mig_mode <= 0) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(gpuInstance);
    for (int i = 0; i < MAX_MIGS; i++)
        if (gpu->mig[i].present && gpu->mig[i].gi == id) {
            gpuInstance->handle = &gpu_instances[gpu->slot][i];
            END(NVML_SUCCESS);
        }
    END(NVML_ERROR_NOT_FOUND);
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profileId, nvmlGpuInstance_t *gpuInstances, unsigned int *count)
{
    BEGIN_DEVICE(nvmlDeviceGetGpuInstances, device);
    const struct gpu *gpu = call.gpu;
    if (gpu->mig_mode <= 0) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(gpuInstances && count);
    *count = 0;
    for (int i = 0; i < MAX_MIGS; i++) {
        bool first = gpu->mig[i].present && profile_of(gpu->mig[i].gpu_slices) == profileId;
        for (int j = 0; j < i; j++) /* several compute instances may share one */
            first &= !(gpu->mig[j].present && gpu->mig[j].gi == gpu->mig[i].gi);
        if (first) gpuInstances[(*count)++].handle = &gpu_instances[gpu->slot][i];
    }
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gpuInstance, nvmlGpuInstanceInfo_t *info)
{
    BEGIN(nvmlGpuInstanceGetInfo);
    const struct gpu *gpu;
    const struct mig *mig = instance_at(call.snap, (size_t)((uintptr_t)gpuInstance.handle - (uintptr_t)gpu_instances), &gpu);
    REQUIRE(mig && info);
    info->device = handle_of(gpu->slot, -1);
    info->id = mig->gi;
    info->profileId = profile_of(mig->gpu_slices);
    info->placement = (nvmlGpuInstancePlacement_t){.start = mig->start, .size = mig->gpu_slices};
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gpuInstance, unsigned int id, nvmlComputeInstance_t *computeInstance)
{
    BEGIN(nvmlGpuInstanceGetComputeInstanceById);
    const struct gpu *gpu;
    const struct mig *mig = instance_at(call.snap, (size_t)((uintptr_t)gpuInstance.handle - (uintptr_t)gpu_instances), &gpu);
    REQUIRE(mig && computeInstance);
    for (int i = 0; i < MAX_MIGS; i++)
        if (gpu->mig[i].present && gpu->mig[i].gi == mig->gi && gpu->mig[i].ci == id) {
            computeInstance->handle = &compute_instances[gpu->slot][i];
            END(NVML_SUCCESS);
        }
    END(NVML_ERROR_NOT_FOUND);
}

static nvmlReturn_t compute_info(struct call *call, nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t *info, bool full)
{
    const struct gpu *gpu;
    const struct mig *mig = instance_at(call->snap, (size_t)((uintptr_t)instance.handle - (uintptr_t)compute_instances), &gpu);
    if (!mig || !info) return NVML_ERROR_INVALID_ARGUMENT;
    info->device = handle_of(gpu->slot, -1);
    info->gpuInstance.handle = &gpu_instances[gpu->slot][mig - gpu->mig];
    info->id = mig->ci;
    info->profileId = profile_of(mig->compute_slices);
    if (full) info->placement = (nvmlComputeInstancePlacement_t){.start = mig->ci, .size = mig->compute_slices};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t computeInstance, nvmlComputeInstanceInfo_t *info)
{
    BEGIN(nvmlComputeInstanceGetInfo);
    END(compute_info(&call, computeInstance, info, false));
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t computeInstance, nvmlComputeInstanceInfo_t *info)
{
    BEGIN(nvmlComputeInstanceGetInfo_v2);
    END(compute_info(&call, computeInstance, info, true));
}

/* ---- profiles -------------------------------------------------------------------------------------------------- */

static const struct {
    unsigned profile, id, slices, instances, multiprocessors, copy_engines, decoders;
    const char *name;
    unsigned gb;
} profiles[] = {
    {NVML_GPU_INSTANCE_PROFILE_1_SLICE, 19, 1, 7, 16, 1, 1, "1g.10gb", 10},
    {NVML_GPU_INSTANCE_PROFILE_2_SLICE, 14, 2, 3, 32, 2, 2, "2g.20gb", 20},
    {NVML_GPU_INSTANCE_PROFILE_3_SLICE, 9, 3, 2, 60, 3, 3, "3g.40gb", 40},
    {NVML_GPU_INSTANCE_PROFILE_4_SLICE, 5, 4, 1, 64, 4, 4, "4g.40gb", 40},
    {NVML_GPU_INSTANCE_PROFILE_7_SLICE, 0, 7, 1, 132, 8, 7, "7g.80gb", 80},
};

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info)
{
    BEGIN_DEVICE(nvmlDeviceGetGpuInstanceProfileInfo, device);
    if (call.gpu->mig_mode == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(info && profile < NVML_GPU_INSTANCE_PROFILE_COUNT);
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (profiles[i].profile == profile) {
            *info = (nvmlGpuInstanceProfileInfo_t){
                .id = profiles[i].id, .sliceCount = profiles[i].slices, .instanceCount = profiles[i].instances,
                .multiprocessorCount = profiles[i].multiprocessors, .copyEngineCount = profiles[i].copy_engines,
                .decoderCount = profiles[i].decoders, .jpegCount = profiles[i].decoders, .memorySizeMB = profiles[i].gb * 1000 - 320};
            END(NVML_SUCCESS);
        }
    END(NVML_ERROR_NOT_SUPPORTED);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_v2_t *info)
{
    BEGIN_DEVICE(nvmlDeviceGetGpuInstanceProfileInfoV, device);
    if (call.gpu->mig_mode == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(info && profile < NVML_GPU_INSTANCE_PROFILE_COUNT);
    if (info->version != nvmlGpuInstanceProfileInfo_v2) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (profiles[i].profile == profile) {
            *info = (nvmlGpuInstanceProfileInfo_v2_t){
                .version = nvmlGpuInstanceProfileInfo_v2, .id = profiles[i].id, .sliceCount = profiles[i].slices,
                .instanceCount = profiles[i].instances, .multiprocessorCount = profiles[i].multiprocessors,
                .copyEngineCount = profiles[i].copy_engines, .decoderCount = profiles[i].decoders,
                .jpegCount = profiles[i].decoders, .memorySizeMB = profiles[i].gb * 1000 - 320};
            snprintf(info->name, sizeof info->name, "MIG %s", profiles[i].name);
            END(NVML_SUCCESS);
        }
    END(NVML_ERROR_NOT_SUPPORTED);
}
