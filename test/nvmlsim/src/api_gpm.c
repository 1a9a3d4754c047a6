/* GPM: samples of running totals, and the metrics between two of them. */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* The values whose totals a sample holds. */
static const enum value sampled[] = {
    V_GPM_GRAPHICS, V_GPM_SM,   V_GPM_OCCUPANCY, V_GPM_INTEGER, V_GPM_TENSOR, V_GPM_DFMA, V_GPM_HMMA,
    V_GPM_DMMA,     V_GPM_IMMA, V_GPM_DRAM,      V_GPM_FP64,    V_GPM_FP32,   V_GPM_FP16, V_PCIE_TX,
    V_PCIE_RX,      V_GPM_NVDEC, V_GPM_NVJPG,    V_GPM_NVOFA,   V_NVLINK_TX,  V_NVLINK_RX,
};
#define SAMPLED (sizeof sampled / sizeof *sampled)

struct nvmlGpmSample_st {
    bool taken;
    int slot, mig, links;
    uint64_t links_down;
    double t, totals[SAMPLED];
    nvmlReturn_t returns[SAMPLED];
};

static int position(enum value id)
{
    for (size_t i = 0; i < SAMPLED; i++)
        if (sampled[i] == id) return (int)i;
    return -1;
}

/* The value of a metric, and the size of one unit of it in our unit; *link is its NVLink, -1 for all. */
static int metric_value(unsigned metric, double *unit, int *link)
{
    *unit = 1;
    *link = -2;
    if (metric >= 1 && metric <= 13) return (int)V_GPM_GRAPHICS + (int)metric - 1;
    if (metric >= 30 && metric <= 37) return V_GPM_NVDEC;
    if (metric >= 40 && metric <= 47) return V_GPM_NVJPG;
    if (metric >= 50 && metric <= 51) return V_GPM_NVOFA;
    *unit = 1048576; /* MiB */
    if (metric == 20) return V_PCIE_TX;
    if (metric == 21) return V_PCIE_RX;
    if (metric < 60 || metric > 97) return -1;
    *link = (int)(metric - 60) / 2 - 1;
    return metric % 2 ? V_NVLINK_TX : V_NVLINK_RX;
}

static bool supported(const struct gpu *gpu)
{
    return gpu->gpm == 1;
}

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *gpmSupport)
{
    BEGIN_DEVICE(nvmlGpmQueryDeviceSupport, device);
    REQUIRE(gpmSupport);
    if (gpmSupport->version != NVML_GPM_SUPPORT_VERSION) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    gpmSupport->isSupportedDevice = supported(call.gpu);
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t device, unsigned int *state)
{
    BEGIN_DEVICE(nvmlGpmQueryIfStreamingEnabled, device);
    REQUIRE(state);
    if (!supported(call.gpu)) END(NVML_ERROR_NOT_SUPPORTED);
    *state = NVML_FEATURE_DISABLED;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *gpmSample)
{
    BEGIN(nvmlGpmSampleAlloc);
    REQUIRE(gpmSample);
    gpmSample->handle = calloc(1, sizeof *gpmSample->handle);
    END(gpmSample->handle ? NVML_SUCCESS : NVML_ERROR_MEMORY);
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t gpmSample)
{
    BEGIN(nvmlGpmSampleFree);
    REQUIRE(gpmSample.handle);
    free(gpmSample.handle);
    END(NVML_SUCCESS);
}

static nvmlReturn_t take(struct call *call, const struct mig *mig, struct nvmlGpmSample_st *sample)
{
    const struct gpu *gpu = call->gpu;
    if (!supported(gpu)) return NVML_ERROR_NOT_SUPPORTED;
    if (!sample) return NVML_ERROR_INVALID_ARGUMENT;
    sample->slot = gpu->slot;
    sample->mig = mig ? (int)(mig - gpu->mig) : -1;
    sample->links = gpu->links;
    sample->links_down = gpu->links_down;
    sample->t = call_time(call);
    for (size_t i = 0; i < SAMPLED; i++)
        sample->returns[i] = value_integral(gpu, mig ? mig->v : gpu->v, sampled[i], sample->t, &sample->totals[i]);
    sample->taken = true;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t gpmSample)
{
    BEGIN_DEVICE(nvmlGpmSampleGet, device);
    END(take(&call, call.mig, gpmSample.handle));
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gpuInstanceId, nvmlGpmSample_t gpmSample)
{
    BEGIN_DEVICE(nvmlGpmMigSampleGet, device);
    const struct mig *found = NULL;
    for (int i = MAX_MIGS - 1; call.gpu->mig_mode > 0 && i >= 0; i--)
        if (call.gpu->mig[i].present && call.gpu->mig[i].gi == gpuInstanceId) found = &call.gpu->mig[i];
    if (!found) END(NVML_ERROR_NOT_FOUND);
    END(take(&call, found, gpmSample.handle));
}

static nvmlReturn_t between(const struct nvmlGpmSample_st *a, const struct nvmlGpmSample_st *b, nvmlGpmMetric_t *metric)
{
    double unit;
    int link, id = metric_value(metric->metricId, &unit, &link);
    if (id < 0) return NVML_ERROR_NOT_SUPPORTED;
    if (link >= b->links || (link != -2 && b->links <= 0)) return NVML_ERROR_NOT_SUPPORTED;
    if (b->mig >= 0 && unit != 1) return NVML_ERROR_NOT_SUPPORTED; /* the bus and the links belong to the GPU */
    int i = position((enum value)id);
    if (b->returns[i] != NVML_SUCCESS) return b->returns[i];
    metric->value = (b->totals[i] - a->totals[i]) / (b->t - a->t) / unit;
    if (link == -1) {
        int active = 0;
        for (int l = 0; l < b->links; l++)
            active += !(b->links_down >> l & 1);
        metric->value *= active;
    } else if (link >= 0 && b->links_down >> link & 1) {
        metric->value = 0;
    }
    /* A percentage may leave its range if the state changed in between. */
    if (unit == 1) metric->value = metric->value < 0 ? 0 : metric->value > 100 ? 100 : metric->value;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *metricsGet)
{
    BEGIN(nvmlGpmMetricsGet);
    REQUIRE(metricsGet);
    if (metricsGet->version != NVML_GPM_METRICS_GET_VERSION) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    const struct nvmlGpmSample_st *a = metricsGet->sample1.handle, *b = metricsGet->sample2.handle;
    REQUIRE(metricsGet->numMetrics <= NVML_GPM_METRIC_MAX && a && b && a->taken && b->taken);
    /* Two samples of different devices, or in the wrong order, have no metrics between them. */
    REQUIRE(a->slot == b->slot && a->mig == b->mig && b->t > a->t);
    for (unsigned i = 0; i < metricsGet->numMetrics; i++) {
        nvmlGpmMetric_t *metric = &metricsGet->metrics[i];
        metric->metricInfo = (nvmlGpmMetricMetricInfo_t){0};
        metric->value = 0;
        metric->nvmlReturn = between(a, b, metric);
    }
    END(NVML_SUCCESS);
}
