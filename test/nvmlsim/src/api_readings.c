/* Memory, temperature, power, clocks and PCIe: functions that return values without conversion. */
#include <string.h>

#include "sim.h"

/* A function that returns one value. */
#define VALUE(function, type, read, id)                          \
    nvmlReturn_t function(nvmlDevice_t device, type *out)        \
    {                                                            \
        BEGIN_DEVICE(function, device);                          \
        END(read(&call, id, out));                               \
    }

/* ---- memory ---------------------------------------------------------------------------------------------------- */

struct memory {
    unsigned long long total, reserved, used, free;
};

static nvmlReturn_t read_memory(struct call *call, struct memory *m)
{
    nvmlReturn_t ret = value_u64(call, V_MEMORY_TOTAL, &m->total);
    if (ret == NVML_SUCCESS) ret = value_u64(call, V_MEMORY_RESERVED, &m->reserved);
    if (ret == NVML_SUCCESS) ret = value_u64(call, V_MEMORY_USED, &m->used);
    if (ret != NVML_SUCCESS) return ret;
    unsigned long long gone = m->reserved + m->used;
    m->free = gone < m->total ? m->total - gone : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    BEGIN_DEVICE(nvmlDeviceGetMemoryInfo, device);
    REQUIRE(memory);
    struct memory m;
    nvmlReturn_t ret = read_memory(&call, &m);
    if (ret != NVML_SUCCESS) END(ret);
    /* The first version has no reserved memory: it counts as used. */
    *memory = (nvmlMemory_t){.total = m.total, .free = m.free, .used = m.used + m.reserved};
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    BEGIN_DEVICE(nvmlDeviceGetMemoryInfo_v2, device);
    REQUIRE(memory);
    if (memory->version != nvmlMemory_v2) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    struct memory m;
    nvmlReturn_t ret = read_memory(&call, &m);
    if (ret != NVML_SUCCESS) END(ret);
    memory->total = m.total;
    memory->reserved = m.reserved;
    memory->free = m.free;
    memory->used = m.used;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1Memory)
{
    BEGIN_DEVICE(nvmlDeviceGetBAR1MemoryInfo, device);
    REQUIRE(bar1Memory);
    unsigned long long total, used;
    nvmlReturn_t ret = value_u64(&call, V_BAR1_TOTAL, &total);
    if (ret == NVML_SUCCESS) ret = value_u64(&call, V_BAR1_USED, &used);
    if (ret == NVML_SUCCESS)
        *bar1Memory = (nvmlBAR1Memory_t){.bar1Total = total, .bar1Used = used, .bar1Free = used < total ? total - used : 0};
    END(ret);
}

nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(nvmlDevice_t device, nvmlConfComputeMemSizeInfo_t *memInfo)
{
    BEGIN_DEVICE(nvmlDeviceGetConfComputeMemSizeInfo, device);
    REQUIRE(memInfo);
    unsigned long long protected, total;
    nvmlReturn_t ret = value_u64(&call, V_PROTECTED_TOTAL, &protected);
    if (ret == NVML_SUCCESS) ret = value_u64(&call, V_MEMORY_TOTAL, &total);
    if (ret == NVML_SUCCESS) {
        memInfo->protectedMemSizeKib = protected / 1024;
        memInfo->unprotectedMemSizeKib = (total - protected) / 1024;
    }
    END(ret);
}

nvmlReturn_t nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlDevice_t device, nvmlMemory_t *memory)
{
    BEGIN_DEVICE(nvmlDeviceGetConfComputeProtectedMemoryUsage, device);
    REQUIRE(memory);
    unsigned long long total, used;
    nvmlReturn_t ret = value_u64(&call, V_PROTECTED_TOTAL, &total);
    if (ret == NVML_SUCCESS) ret = value_u64(&call, V_PROTECTED_USED, &used);
    if (ret == NVML_SUCCESS) *memory = (nvmlMemory_t){.total = total, .used = used, .free = used < total ? total - used : 0};
    END(ret);
}

/* ---- temperature and fans -------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType, unsigned int *temp)
{
    BEGIN_DEVICE(nvmlDeviceGetTemperature, device);
    REQUIRE(sensorType == NVML_TEMPERATURE_GPU);
    END(value_int(&call, V_TEMPERATURE, (int *)temp));
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    BEGIN_DEVICE(nvmlDeviceGetTemperatureV, device);
    REQUIRE(temperature);
    if (temperature->version != nvmlTemperature_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    REQUIRE(temperature->sensorType == NVML_TEMPERATURE_GPU);
    END(value_int(&call, V_TEMPERATURE, &temperature->temperature));
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t thresholdType, unsigned int *temp)
{
    static const enum value ids[] = {V_THRESHOLD_SHUTDOWN, V_THRESHOLD_SLOWDOWN, V_THRESHOLD_MEM_MAX, V_THRESHOLD_GPU_MAX};
    BEGIN_DEVICE(nvmlDeviceGetTemperatureThreshold, device);
    REQUIRE((unsigned)thresholdType < NVML_TEMPERATURE_THRESHOLD_COUNT);
    if (thresholdType >= sizeof ids / sizeof *ids) END(NVML_ERROR_NOT_SUPPORTED); /* acoustic: boards with a fan curve */
    END(value_u32(&call, ids[thresholdType], temp));
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *marginTempInfo)
{
    BEGIN_DEVICE(nvmlDeviceGetMarginTemperature, device);
    REQUIRE(marginTempInfo);
    if (marginTempInfo->version != nvmlMarginTemperature_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    END(value_int(&call, V_TLIMIT_MARGIN, &marginTempInfo->marginTemperature));
}

nvmlReturn_t nvmlDeviceGetThermalSettings(nvmlDevice_t device, unsigned int sensorIndex, nvmlGpuThermalSettings_t *pThermalSettings)
{
    static const struct {
        enum value id;
        nvmlThermalTarget_t target;
    } sensors[] = {{V_TEMPERATURE, NVML_THERMAL_TARGET_GPU}, {V_TEMPERATURE_MEMORY, NVML_THERMAL_TARGET_MEMORY}};
    BEGIN_DEVICE(nvmlDeviceGetThermalSettings, device);
    REQUIRE(pThermalSettings);
    memset(pThermalSettings, 0, sizeof *pThermalSettings);
    for (unsigned i = 0; i < 2; i++) {
        nvmlGpuThermalSettingsSensor_t *out = &pThermalSettings->sensor[pThermalSettings->count];
        if (sensorIndex != NVML_THERMAL_TARGET_ALL && sensorIndex != i) continue;
        if (value_int(&call, sensors[i].id, &out->currentTemp) != NVML_SUCCESS) continue;
        out->controller = NVML_THERMAL_CONTROLLER_GPU_INTERNAL;
        out->target = sensors[i].target;
        out->defaultMaxTemp = 127;
        pThermalSettings->count++;
    }
    END(pThermalSettings->count ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int *numFans)
{
    BEGIN_DEVICE(nvmlDeviceGetNumFans, device);
    REQUIRE(numFans);
    if (call.gpu->fans == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    *numFans = (unsigned)call.gpu->fans;
    END(NVML_SUCCESS);
}

VALUE(nvmlDeviceGetFanSpeed, unsigned int, value_u32, V_FAN)

nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan, unsigned int *speed)
{
    BEGIN_DEVICE(nvmlDeviceGetFanSpeed_v2, device);
    if (call.gpu->fans <= 0) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(fan < (unsigned)call.gpu->fans);
    END(value_u32(&call, V_FAN, speed));
}

nvmlReturn_t nvmlDeviceGetFanSpeedRPM(nvmlDevice_t device, nvmlFanSpeedInfo_t *fanSpeed)
{
    BEGIN_DEVICE(nvmlDeviceGetFanSpeedRPM, device);
    REQUIRE(fanSpeed);
    if (fanSpeed->version != nvmlFanSpeedInfo_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (call.gpu->fans <= 0) END(NVML_ERROR_NOT_SUPPORTED);
    REQUIRE(fanSpeed->fan < (unsigned)call.gpu->fans);
    END(value_u32(&call, V_FAN_RPM, &fanSpeed->speed));
}

/* ---- power ----------------------------------------------------------------------------------------------------- */

VALUE(nvmlDeviceGetPowerUsage, unsigned int, value_u32, V_POWER)
VALUE(nvmlDeviceGetPowerManagementLimit, unsigned int, value_u32, V_POWER_LIMIT)
VALUE(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, value_u32, V_POWER_DEFAULT)
VALUE(nvmlDeviceGetEnforcedPowerLimit, unsigned int, value_u32, V_POWER_ENFORCED)
VALUE(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, value_u64, V_ENERGY)

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *minLimit, unsigned int *maxLimit)
{
    BEGIN_DEVICE(nvmlDeviceGetPowerManagementLimitConstraints, device);
    nvmlReturn_t ret = value_u32(&call, V_POWER_MIN, minLimit);
    END(ret == NVML_SUCCESS ? value_u32(&call, V_POWER_MAX, maxLimit) : ret);
}

nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    BEGIN_DEVICE(nvmlDeviceGetPowerManagementMode, device);
    REQUIRE(mode);
    *mode = NVML_FEATURE_ENABLED;
    END(NVML_SUCCESS);
}

/* ---- clocks ---------------------------------------------------------------------------------------------------- */

static const enum value clocks[] = {V_CLOCK_GRAPHICS, V_CLOCK_SM, V_CLOCK_MEMORY, V_CLOCK_VIDEO};
static const enum value max_clocks[] = {V_CLOCK_MAX_GRAPHICS, V_CLOCK_MAX_SM, V_CLOCK_MAX_MEMORY, V_CLOCK_MAX_VIDEO};

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    BEGIN_DEVICE(nvmlDeviceGetClockInfo, device);
    REQUIRE((unsigned)type < NVML_CLOCK_COUNT);
    END(value_u32(&call, clocks[type], clock));
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    BEGIN_DEVICE(nvmlDeviceGetMaxClockInfo, device);
    REQUIRE((unsigned)type < NVML_CLOCK_COUNT);
    END(value_u32(&call, max_clocks[type], clock));
}

nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t clockType, nvmlClockId_t clockId, unsigned int *clockMHz)
{
    BEGIN_DEVICE(nvmlDeviceGetClock, device);
    REQUIRE((unsigned)clockType < NVML_CLOCK_COUNT && (unsigned)clockId < NVML_CLOCK_ID_COUNT);
    END(value_u32(&call, clockId == NVML_CLOCK_ID_CURRENT ? clocks[clockType] : max_clocks[clockType], clockMHz));
}

nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t clockType, unsigned int *clockMHz)
{
    BEGIN_DEVICE(nvmlDeviceGetMaxCustomerBoostClock, device);
    REQUIRE((unsigned)clockType < NVML_CLOCK_COUNT);
    END(value_u32(&call, max_clocks[clockType], clockMHz));
}

VALUE(nvmlDeviceGetPerformanceState, nvmlPstates_t, value_u32, V_PSTATE)
VALUE(nvmlDeviceGetPowerState, nvmlPstates_t, value_u32, V_PSTATE)
VALUE(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, value_u64, V_REASONS)
VALUE(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, value_u64, V_REASONS)
VALUE(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, value_u64, V_REASONS_SUPPORTED)
VALUE(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, value_u64, V_REASONS_SUPPORTED)

nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t perfPolicyType, nvmlViolationTime_t *violTime)
{
    static const enum value ids[NVML_PERF_POLICY_COUNT] = {
        [NVML_PERF_POLICY_POWER] = V_VIOLATION_POWER,
        [NVML_PERF_POLICY_THERMAL] = V_VIOLATION_THERMAL,
        [NVML_PERF_POLICY_SYNC_BOOST] = V_VIOLATION_SYNC_BOOST,
        [NVML_PERF_POLICY_BOARD_LIMIT] = V_VIOLATION_BOARD_LIMIT,
        [NVML_PERF_POLICY_LOW_UTILIZATION] = V_VIOLATION_LOW_UTIL,
        [NVML_PERF_POLICY_RELIABILITY] = V_VIOLATION_RELIABILITY,
        [NVML_PERF_POLICY_TOTAL_APP_CLOCKS] = V_VIOLATION_APP_CLOCKS,
        [NVML_PERF_POLICY_TOTAL_BASE_CLOCKS] = V_VIOLATION_BASE_CLOCKS,
    };
    BEGIN_DEVICE(nvmlDeviceGetViolationStatus, device);
    REQUIRE(violTime && (unsigned)perfPolicyType < NVML_PERF_POLICY_COUNT && ids[perfPolicyType]);
    violTime->referenceTime = call_timestamp(call_time(&call));
    END(value_u64(&call, ids[perfPolicyType], &violTime->violationTime));
}

/* ---- PCIe ------------------------------------------------------------------------------------------------------ */

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *value)
{
    BEGIN_DEVICE(nvmlDeviceGetPcieThroughput, device);
    REQUIRE((unsigned)counter < NVML_PCIE_UTIL_COUNT);
    unsigned long long rate = 0;
    nvmlReturn_t ret = value_u64(&call, counter == NVML_PCIE_UTIL_TX_BYTES ? V_PCIE_TX : V_PCIE_RX, &rate);
    if (ret != NVML_SUCCESS) END(ret);
    REQUIRE(value);
    /* The driver counts for 20 ms while the caller waits. */
    pause_seconds(call.snap->pcie_seconds, false);
    *value = (unsigned)(rate / 1000);
    END(NVML_SUCCESS);
}

VALUE(nvmlDeviceGetPcieReplayCounter, unsigned int, value_u32, V_PCIE_REPLAY)
VALUE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, value_u32, V_PCIE_GEN)
VALUE(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, value_u32, V_PCIE_GEN_MAX)
VALUE(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int, value_u32, V_PCIE_GEN_GPU_MAX)
VALUE(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, value_u32, V_PCIE_WIDTH)
VALUE(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, value_u32, V_PCIE_WIDTH_MAX)

nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned int *pcieSpeed)
{
    static const unsigned int mbps[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};
    BEGIN_DEVICE(nvmlDeviceGetPcieSpeed, device);
    REQUIRE(pcieSpeed);
    unsigned int generation = 0;
    nvmlReturn_t ret = value_u32(&call, V_PCIE_GEN, &generation);
    if (ret == NVML_SUCCESS) *pcieSpeed = mbps[generation < 7 ? generation : 0];
    END(ret);
}
