/* Memory errors, remapped rows and retired pages. */
#include <string.h>

#include "sim.h"

/* Where errors are counted: [volatile, aggregate][corrected, uncorrected]. */
struct counters {
    enum value id[2][2];
};
#define COUNTERS(where) {{{V_ECC_VOL_COR##where, V_ECC_VOL_UNC##where}, {V_ECC_AGG_COR##where, V_ECC_AGG_UNC##where}}}

static bool valid(nvmlMemoryErrorType_t errorType, nvmlEccCounterType_t counterType)
{
    return (unsigned)errorType < NVML_MEMORY_ERROR_TYPE_COUNT && (unsigned)counterType < NVML_ECC_COUNTER_TYPE_COUNT;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
    BEGIN_DEVICE(nvmlDeviceGetEccMode, device);
    REQUIRE(current && pending);
    const struct gpu *gpu = call.gpu;
    if (gpu->ecc == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    *current = (nvmlEnableState_t)gpu->ecc;
    *pending = (nvmlEnableState_t)(gpu->ecc_pending == INT32_MAX ? gpu->ecc : gpu->ecc_pending);
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                         nvmlEccCounterType_t counterType, unsigned long long *eccCounts)
{
    static const struct counters total = COUNTERS();
    BEGIN_DEVICE(nvmlDeviceGetTotalEccErrors, device);
    REQUIRE(valid(errorType, counterType));
    if (call.gpu->ecc != NVML_FEATURE_ENABLED) END(NVML_ERROR_NOT_SUPPORTED);
    END(value_u64(&call, total.id[counterType][errorType], eccCounts));
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                             nvmlEccCounterType_t counterType, nvmlMemoryLocation_t locationType,
                                             unsigned long long *count)
{
    static const struct counters places[NVML_MEMORY_LOCATION_COUNT] = {
        [NVML_MEMORY_LOCATION_L1_CACHE] = COUNTERS(_L1),        [NVML_MEMORY_LOCATION_L2_CACHE] = COUNTERS(_L2),
        [NVML_MEMORY_LOCATION_DRAM] = COUNTERS(_DRAM),          [NVML_MEMORY_LOCATION_REGISTER_FILE] = COUNTERS(_REG),
        [NVML_MEMORY_LOCATION_SRAM] = COUNTERS(_SRAM),
    };
    BEGIN_DEVICE(nvmlDeviceGetMemoryErrorCounter, device);
    REQUIRE(valid(errorType, counterType) && (unsigned)locationType < NVML_MEMORY_LOCATION_COUNT);
    enum value id = places[locationType].id[counterType][errorType];
    if (call.gpu->ecc != NVML_FEATURE_ENABLED || !id) END(NVML_ERROR_NOT_SUPPORTED);
    END(value_u64(&call, id, count));
}

nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                            nvmlEccCounterType_t counterType, nvmlEccErrorCounts_t *eccCounts)
{
    static const struct counters l1 = COUNTERS(_L1), l2 = COUNTERS(_L2), dram = COUNTERS(_DRAM), reg = COUNTERS(_REG);
    BEGIN_DEVICE(nvmlDeviceGetDetailedEccErrors, device);
    REQUIRE(eccCounts && valid(errorType, counterType));
    if (call.gpu->ecc != NVML_FEATURE_ENABLED) END(NVML_ERROR_NOT_SUPPORTED);
    memset(eccCounts, 0, sizeof *eccCounts);
    nvmlReturn_t ret = value_u64(&call, dram.id[counterType][errorType], &eccCounts->deviceMemory);
    value_u64(&call, l1.id[counterType][errorType], &eccCounts->l1Cache); /* unsupported ones stay 0 */
    value_u64(&call, l2.id[counterType][errorType], &eccCounts->l2Cache);
    value_u64(&call, reg.id[counterType][errorType], &eccCounts->registerFile);
    END(ret);
}

nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t *status)
{
    BEGIN_DEVICE(nvmlDeviceGetSramEccErrorStatus, device);
    REQUIRE(status);
    if (status->version != nvmlEccSramErrorStatus_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (call.gpu->ecc != NVML_FEATURE_ENABLED) END(NVML_ERROR_NOT_SUPPORTED);
    const struct {
        enum value id;
        unsigned long long *out;
    } counters[] = {
        {V_SRAM_AGG_PARITY, &status->aggregateUncParity},     {V_SRAM_AGG_SECDED, &status->aggregateUncSecDed},
        {V_ECC_AGG_COR_SRAM, &status->aggregateCor},          {V_SRAM_VOL_PARITY, &status->volatileUncParity},
        {V_SRAM_VOL_SECDED, &status->volatileUncSecDed},      {V_ECC_VOL_COR_SRAM, &status->volatileCor},
        {V_SRAM_BUCKET_L2, &status->aggregateUncBucketL2},    {V_SRAM_BUCKET_SM, &status->aggregateUncBucketSm},
        {V_SRAM_BUCKET_PCIE, &status->aggregateUncBucketPcie}, {V_SRAM_BUCKET_MCU, &status->aggregateUncBucketMcu},
        {V_SRAM_BUCKET_OTHER, &status->aggregateUncBucketOther},
    };
    nvmlReturn_t ret = NVML_SUCCESS;
    for (size_t i = 0; ret == NVML_SUCCESS && i < sizeof counters / sizeof *counters; i++)
        ret = value_u64(&call, counters[i].id, counters[i].out);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_SRAM_THRESHOLD, &status->bThresholdExceeded) : ret);
}

/* ---- row remapping: Ampere and newer, not while MIG devices exist ---------------------------------------------- */

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows, unsigned int *uncRows,
                                       unsigned int *isPending, unsigned int *failureOccurred)
{
    BEGIN_DEVICE(nvmlDeviceGetRemappedRows, device);
    if (partitioned(call.gpu)) END(NVML_ERROR_NOT_SUPPORTED);
    nvmlReturn_t ret = value_u32(&call, V_REMAPPED_COR, corrRows);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAPPED_UNC, uncRows);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAPPED_PENDING, isPending);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_REMAPPED_FAILURE, failureOccurred) : ret);
}

nvmlReturn_t nvmlDeviceGetRemappedRows_v2(nvmlDevice_t device, nvmlRemappedRowsInfo_v2_t *info)
{
    BEGIN_DEVICE(nvmlDeviceGetRemappedRows_v2, device);
    REQUIRE(info);
    if (partitioned(call.gpu)) END(NVML_ERROR_NOT_SUPPORTED);
    nvmlReturn_t ret = value_u32(&call, V_REMAPPED_COR, &info->corrActiveRemaps);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAPPED_COR_INACT, &info->corrInactiveRemaps);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAPPED_UNC, &info->uncActiveRemaps);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAPPED_UNC_INACT, &info->uncInactiveRemaps);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAPPED_PENDING, &info->bPending);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_REMAPPED_FAILURE, &info->bFailureOccurred) : ret);
}

nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *values)
{
    BEGIN_DEVICE(nvmlDeviceGetRowRemapperHistogram, device);
    REQUIRE(values);
    nvmlReturn_t ret = value_u32(&call, V_REMAP_BANKS_MAX, &values->max);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAP_BANKS_HIGH, &values->high);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAP_BANKS_PARTIAL, &values->partial);
    if (ret == NVML_SUCCESS) ret = value_u32(&call, V_REMAP_BANKS_LOW, &values->low);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_REMAP_BANKS_NONE, &values->none) : ret);
}

/* ---- what is repaired at a reset: Blackwell ------------------------------------------------------------------------ */

nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, nvmlRepairStatus_t *status)
{
    BEGIN_DEVICE(nvmlDeviceGetRepairStatus, device);
    REQUIRE(status);
    if (status->version != nvmlRepairStatus_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    nvmlReturn_t ret = value_u32(&call, V_REPAIR_CHANNEL, &status->bChannelRepairPending);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_REPAIR_TPC, &status->bTpcRepairPending) : ret);
}

nvmlReturn_t nvmlDeviceGetUnrepairableMemoryFlag_v1(nvmlDevice_t device, nvmlUnrepairableMemoryStatus_v1_t *status)
{
    BEGIN_DEVICE(nvmlDeviceGetUnrepairableMemoryFlag_v1, device);
    REQUIRE(status);
    END(value_u32(&call, V_UNREPAIRABLE, &status->bUnrepairableMemory));
}

/* ---- retired pages: before Ampere ------------------------------------------------------------------------------ */

static nvmlReturn_t retired(struct call *call, nvmlPageRetirementCause_t cause, unsigned int *pageCount,
                            unsigned long long *addresses, unsigned long long *timestamps)
{
    if (!pageCount || (unsigned)cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int n = 0, room = *pageCount;
    nvmlReturn_t ret = value_u32(call, cause == NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR ? V_RETIRED_DBE : V_RETIRED_SBE, &n);
    if (ret != NVML_SUCCESS) return ret;
    *pageCount = n;
    if (n > room) {
        call->quiet = room == 0;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    for (unsigned i = 0; i < n && addresses; i++) {
        addresses[i] = 0x100000u + 0x1000u * (2 * i + (unsigned)cause);
        if (timestamps) timestamps[i] = engine_epoch_us() / 1000000 - 86400;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned int *pageCount,
                                       unsigned long long *addresses)
{
    BEGIN_DEVICE(nvmlDeviceGetRetiredPages, device);
    END(retired(&call, cause, pageCount, addresses, NULL));
}

nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned int *pageCount,
                                          unsigned long long *addresses, unsigned long long *timestamps)
{
    BEGIN_DEVICE(nvmlDeviceGetRetiredPages_v2, device);
    END(retired(&call, cause, pageCount, addresses, timestamps));
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, nvmlEnableState_t *isPending)
{
    BEGIN_DEVICE(nvmlDeviceGetRetiredPagesPendingStatus, device);
    END(value_u32(&call, V_RETIRED_PENDING, isPending));
}
