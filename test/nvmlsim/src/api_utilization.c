/* Utilization of a whole GPU: the last period, and the driver's ring of samples. */
#include <math.h>

#include "sim.h"

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    BEGIN_DEVICE(nvmlDeviceGetUtilizationRates, device);
    REQUIRE(utilization);
    nvmlReturn_t ret = value_u32(&call, V_UTIL_GPU, &utilization->gpu);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_UTIL_MEMORY, &utilization->memory) : ret);
}

#define ENGINE(function, id)                                                                                    \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *utilization, unsigned int *samplingPeriodUs)       \
    {                                                                                                           \
        BEGIN_DEVICE(function, device);                                                                         \
        REQUIRE(samplingPeriodUs);                                                                              \
        *samplingPeriodUs = (unsigned)(call.gpu->sample_period * 1e6);                                          \
        END(value_u32(&call, id, utilization));                                                                 \
    }
ENGINE(nvmlDeviceGetEncoderUtilization, V_UTIL_ENCODER)
ENGINE(nvmlDeviceGetDecoderUtilization, V_UTIL_DECODER)
ENGINE(nvmlDeviceGetJpgUtilization, V_UTIL_JPEG)
ENGINE(nvmlDeviceGetOfaUtilization, V_UTIL_OFA)

static const struct {
    enum value id;
    bool busy; /* not while MIG is on */
    int since;
} kinds[NVML_SAMPLINGTYPE_COUNT] = {
    [NVML_TOTAL_POWER_SAMPLES] = {V_POWER, false, 340},
    [NVML_GPU_UTILIZATION_SAMPLES] = {V_UTIL_GPU, true, 340},
    [NVML_MEMORY_UTILIZATION_SAMPLES] = {V_UTIL_MEMORY, true, 340},
    [NVML_ENC_UTILIZATION_SAMPLES] = {V_UTIL_ENCODER, true, 340},
    [NVML_DEC_UTILIZATION_SAMPLES] = {V_UTIL_DECODER, true, 340},
    [NVML_PROCESSOR_CLK_SAMPLES] = {V_CLOCK_SM, false, 340},
    [NVML_MEMORY_CLK_SAMPLES] = {V_CLOCK_MEMORY, false, 340},
    [NVML_MODULE_POWER_SAMPLES] = {V_POWER_MODULE, false, 520},
    [NVML_JPG_UTILIZATION_SAMPLES] = {V_UTIL_JPEG, true, 535},
    [NVML_OFA_UTILIZATION_SAMPLES] = {V_UTIL_OFA, true, 535},
};

/*
 * The ring is never stored: sample k was taken at k * period, so its value follows from the scenario. Before time 0 the
 * values were those of time 0, unless the scenario requires an empty ring at the start (sample.history = 0).
 */
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long lastSeenTimeStamp,
                                  nvmlValueType_t *sampleValType, unsigned int *sampleCount, nvmlSample_t *samples)
{
    BEGIN_DEVICE(nvmlDeviceGetSamples, device);
    const struct gpu *gpu = call.gpu;
    REQUIRE(sampleValType && sampleCount && (unsigned)type < NVML_SAMPLINGTYPE_COUNT && kinds[type].since <= sim_driver);
    REQUIRE(!samples || *sampleCount);
    if (kinds[type].busy && gpu->mig_mode > 0) END(NVML_ERROR_NOT_SUPPORTED);
    if (gpu->v[kinds[type].id].kind == S_ERROR) END(gpu->v[kinds[type].id].error);
    double newest = floor(call_time(&call) / gpu->sample_period), first = newest - gpu->sample_count + 1;
    if (!gpu->sample_history && first < 1) first = 1;
    if (lastSeenTimeStamp >= call_timestamp(first * gpu->sample_period))
        first = floor(((double)(long long)(lastSeenTimeStamp - engine_epoch_us()) + 0.5) / 1e6 / gpu->sample_period) + 1;
    /* Rounding to microseconds may have put the last sample that the caller knows among the new ones. */
    while (first <= newest && call_timestamp(first * gpu->sample_period) <= lastSeenTimeStamp)
        first++;
    *sampleValType = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (first > newest) {
        call.quiet = true;
        END(NVML_ERROR_NOT_FOUND);
    }
    unsigned available = (unsigned)(newest - first + 1);
    if (!samples) {
        *sampleCount = available;
        END(NVML_SUCCESS);
    }
    if (*sampleCount > available) *sampleCount = available;
    for (unsigned i = 0; i < *sampleCount; i++) {
        double at = (first + i) * gpu->sample_period, value;
        nvmlReturn_t ret = value_at(gpu, gpu->v, kinds[type].id, at > 0 ? at : 0, &value);
        if (ret != NVML_SUCCESS) END(ret);
        samples[i].timeStamp = call_timestamp(at);
        samples[i].sampleValue.ullVal = 0;
        samples[i].sampleValue.uiVal = (unsigned)(value * sim_values[kinds[type].id].factor + 1e-6);
    }
    END(NVML_SUCCESS);
}

/* ---- sessions of the encoder and of those who capture the frame buffer ------------------------------------------ */

nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int *sessionCount, unsigned int *averageFps, unsigned int *averageLatency)
{
    BEGIN_DEVICE(nvmlDeviceGetEncoderStats, device);
    nvmlReturn_t ret = value_u32(&call, V_ENCODER_SESSIONS, sessionCount);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_ENCODER_FPS, averageFps);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_ENCODER_LATENCY, averageLatency) : ret);
}

nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t device, nvmlFBCStats_t *fbcStats)
{
    BEGIN_DEVICE(nvmlDeviceGetFBCStats, device);
    REQUIRE(fbcStats);
    nvmlReturn_t ret = value_u32(&call, V_CAPTURE_SESSIONS, &fbcStats->sessionsCount);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_CAPTURE_FPS, &fbcStats->averageFPS);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_CAPTURE_LATENCY, &fbcStats->averageLatency) : ret);
}
