/* Initialisation, shutdown, and queries without a device. */
#include <stdio.h>
#include <string.h>

#include "sim.h"

static nvmlReturn_t init(enum function fn)
{
    struct call call;
    call_enter(&call, fn);
    END(engine_init(&call));
}

nvmlReturn_t nvmlInit(void)
{
    return init(FN_nvmlInit);
}

nvmlReturn_t nvmlInit_v2(void)
{
    return init(FN_nvmlInit_v2);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags; /* "no GPUs is no error" and "do not attach": the simulator always behaves so */
    return init(FN_nvmlInitWithFlags);
}

nvmlReturn_t nvmlShutdown(void)
{
    struct call call;
    call_enter(&call, FN_nvmlShutdown);
    END(engine_shutdown(&call));
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    static const struct {
        nvmlReturn_t result;
        const char *text;
    } texts[] = {
        {NVML_SUCCESS, "Success"}, {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
        {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"}, {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
        {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"}, {NVML_ERROR_NOT_FOUND, "Not Found"},
        {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"}, {NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
        {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"}, {NVML_ERROR_TIMEOUT, "Timeout"},
        {NVML_ERROR_IRQ_ISSUE, "Interrupt Request Issue"}, {NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"},
        {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"}, {NVML_ERROR_CORRUPTED_INFOROM, "Corrupted infoROM"},
        {NVML_ERROR_GPU_IS_LOST, "GPU is lost"}, {NVML_ERROR_RESET_REQUIRED, "GPU requires reset"},
        {NVML_ERROR_OPERATING_SYSTEM, "The operating system has blocked the request."},
        {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "RM has detected an NVML/RM version mismatch."},
        {NVML_ERROR_IN_USE, "In use by another client"}, {NVML_ERROR_MEMORY, "Insufficient Memory"},
        {NVML_ERROR_NO_DATA, "No data"}, {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "The provided version is invalid/unsupported"},
        {NVML_ERROR_DEPRECATED, "The requested functionality has been deprecated"}, {NVML_ERROR_NOT_READY, "The system is not ready"},
        {NVML_ERROR_GPU_NOT_FOUND, "No GPUs were found"}, {NVML_ERROR_INVALID_STATE, "Resource not in correct state"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].result == result) return texts[i].text;
    return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    BEGIN(nvmlSystemGetDriverVersion);
    END(copy_string(call.snap->driver_version, version, length));
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    BEGIN(nvmlSystemGetNVMLVersion);
    END(copy_string(call.snap->nvml_version, version, length));
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *cudaDriverVersion)
{
    BEGIN(nvmlSystemGetCudaDriverVersion);
    REQUIRE(cudaDriverVersion);
    *cudaDriverVersion = call.snap->cuda_version;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *cudaDriverVersion)
{
    BEGIN(nvmlSystemGetCudaDriverVersion_v2);
    REQUIRE(cudaDriverVersion);
    *cudaDriverVersion = call.snap->cuda_version;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    BEGIN(nvmlSystemGetProcessName);
    REQUIRE(name && length > 0);
    double t = call_time(&call);
    for (unsigned slot = 0; slot < call.snap->ngpus; slot++) {
        const struct gpu *gpu = &call.snap->gpus[slot];
        for (unsigned i = 0; i < gpu->nprocesses; i++)
            if (gpu->processes[i].pid == pid && process_alive(&gpu->processes[i], t)) {
                snprintf(name, length, "%s", gpu->processes[i].name); /* cut off, as documented */
                END(NVML_SUCCESS);
            }
    }
    END(NVML_ERROR_NOT_FOUND);
}

nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state)
{
    BEGIN(nvmlSystemGetConfComputeState);
    REQUIRE(state);
    if (call.snap->cc_feature == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    state->environment = (unsigned)call.snap->cc_environment;
    state->ccFeature = (unsigned)call.snap->cc_feature;
    state->devToolsMode = (unsigned)call.snap->cc_devtools;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t *settings)
{
    BEGIN(nvmlSystemGetConfComputeSettings);
    REQUIRE(settings);
    if (settings->version != nvmlSystemConfComputeSettings_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (call.snap->cc_feature == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    settings->environment = (unsigned)call.snap->cc_environment;
    settings->ccFeature = (unsigned)call.snap->cc_feature;
    settings->devToolsMode = (unsigned)call.snap->cc_devtools;
    settings->multiGpuMode = (unsigned)call.snap->cc_multigpu;
    END(NVML_SUCCESS);
}
