/* NVLink, link by link. All links of a GPU carry the same traffic; "links.down" disables some of them. */
#include <stdio.h>
#include <string.h>

#include "sim.h"

static nvmlReturn_t check(const struct gpu *gpu, unsigned int link)
{
    if (gpu->links <= 0) return NVML_ERROR_NOT_SUPPORTED;
    return link < (unsigned)gpu->links ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static bool active(const struct gpu *gpu, unsigned int link)
{
    return !(gpu->links_down >> link & 1);
}

/* The version as NVML numbers it (nvmlNvlinkVersion_t): the scenario has the generation. */
unsigned link_version(const struct gpu *gpu)
{
    static const unsigned char versions[] = {NVML_NVLINK_VERSION_INVALID, NVML_NVLINK_VERSION_1_0, NVML_NVLINK_VERSION_2_0,
                                             NVML_NVLINK_VERSION_3_0,     NVML_NVLINK_VERSION_4_0, NVML_NVLINK_VERSION_5_0};
    size_t generation = (size_t)gpu->link_version;
    return generation < sizeof versions ? versions[generation] : NVML_NVLINK_VERSION_INVALID;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *isActive)
{
    BEGIN_DEVICE(nvmlDeviceGetNvLinkState, device);
    nvmlReturn_t ret = check(call.gpu, link);
    if (ret != NVML_SUCCESS) END(ret);
    REQUIRE(isActive);
    *isActive = active(call.gpu, link) ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *version)
{
    BEGIN_DEVICE(nvmlDeviceGetNvLinkVersion, device);
    nvmlReturn_t ret = check(call.gpu, link);
    if (ret != NVML_SUCCESS) END(ret);
    REQUIRE(version);
    *version = link_version(call.gpu);
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link, nvmlNvLinkCapability_t capability,
                                           unsigned int *capResult)
{
    BEGIN_DEVICE(nvmlDeviceGetNvLinkCapability, device);
    nvmlReturn_t ret = check(call.gpu, link);
    if (ret != NVML_SUCCESS) END(ret);
    REQUIRE(capResult && (unsigned)capability < NVML_NVLINK_CAP_COUNT);
    *capResult = capability != NVML_NVLINK_CAP_SLI_BRIDGE;
    END(NVML_SUCCESS);
}

static nvmlReturn_t remote(const struct gpu *gpu, unsigned int link, nvmlPciInfo_t *pci)
{
    nvmlReturn_t ret = check(gpu, link);
    if (ret != NVML_SUCCESS) return ret;
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    if (!active(gpu, link)) return NVML_ERROR_NOT_SUPPORTED;
    unsigned bus = 0xc0 + link % 4; /* four switches */
    *pci = (nvmlPciInfo_t){.bus = bus, .pciDeviceId = 0x22A310DE};
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", bus);
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", bus);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    BEGIN_DEVICE(nvmlDeviceGetNvLinkRemotePciInfo, device);
    nvmlPciInfo_t full;
    nvmlReturn_t ret = remote(call.gpu, link, pci ? &full : NULL);
    /* The older structure ends before the long form of the bus id. */
    if (ret == NVML_SUCCESS) memcpy(pci, &full, offsetof(nvmlPciInfo_t, busId));
    END(ret);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    BEGIN_DEVICE(nvmlDeviceGetNvLinkRemotePciInfo_v2, device);
    END(remote(call.gpu, link, pci));
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *pNvLinkDeviceType)
{
    BEGIN_DEVICE(nvmlDeviceGetNvLinkRemoteDeviceType, device);
    nvmlReturn_t ret = check(call.gpu, link);
    if (ret != NVML_SUCCESS) END(ret);
    REQUIRE(pNvLinkDeviceType);
    *pNvLinkDeviceType = active(call.gpu, link) ? (nvmlIntNvLinkDeviceType_t)call.gpu->link_remote : NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link, nvmlNvLinkErrorCounter_t counter,
                                             unsigned long long *counterValue)
{
    static const enum value ids[NVML_NVLINK_ERROR_COUNT] = {
        [NVML_NVLINK_ERROR_DL_REPLAY] = V_NVLINK_REPLAY,     [NVML_NVLINK_ERROR_DL_RECOVERY] = V_NVLINK_RECOVERY,
        [NVML_NVLINK_ERROR_DL_CRC_FLIT] = V_NVLINK_CRC_FLIT, [NVML_NVLINK_ERROR_DL_CRC_DATA] = V_NVLINK_CRC_DATA,
        [NVML_NVLINK_ERROR_DL_ECC_DATA] = V_NVLINK_ECC,
    };
    BEGIN_DEVICE(nvmlDeviceGetNvLinkErrorCounter, device);
    nvmlReturn_t ret = check(call.gpu, link);
    if (ret != NVML_SUCCESS) END(ret);
    REQUIRE((unsigned)counter < NVML_NVLINK_ERROR_COUNT);
    if (call.gpu->link_version >= 5) END(NVML_ERROR_NOT_SUPPORTED);
    END(value_u64(&call, ids[counter], counterValue));
}

/* What a GPU of the scenario can do with any other: its own status. */
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2, nvmlGpuP2PCapsIndex_t p2pIndex, nvmlGpuP2PStatus_t *p2pStatus)
{
    BEGIN_DEVICE(nvmlDeviceGetP2PStatus, device1);
    int slot, mig;
    REQUIRE(p2pStatus && (unsigned)p2pIndex < NVML_P2P_CAPS_INDEX_UNKNOWN && handle_resolve(device2, &slot, &mig) && mig < 0);
    if (!call.snap->gpus[slot].present) END(NVML_ERROR_GPU_IS_LOST);
    if (call.gpu->p2p[p2pIndex] == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    *p2pStatus = (nvmlGpuP2PStatus_t)call.gpu->p2p[p2pIndex];
    END(NVML_SUCCESS);
}
