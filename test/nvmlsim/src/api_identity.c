/* The identity of a device, and its modes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* Functions that fill in one text, and functions that fill in one number, of the board. */
#define TEXT(function, text)                                                                \
    nvmlReturn_t function(nvmlDevice_t device, char *out, unsigned int length)              \
    {                                                                                       \
        BEGIN_DEVICE(function, device);                                                     \
        END(copy_string(text, out, length));                                                \
    }
#define NUMBER(function, type, number)                                                      \
    nvmlReturn_t function(nvmlDevice_t device, type *out)                                   \
    {                                                                                       \
        BEGIN_DEVICE(function, device);                                                     \
        REQUIRE(out);                                                                       \
        if ((number) == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);                         \
        *out = (type)(number);                                                              \
        END(NVML_SUCCESS);                                                                  \
    }

TEXT(nvmlDeviceGetUUID, call.mig ? call.mig->uuid : call.gpu->uuid)
TEXT(nvmlDeviceGetSerial, call.gpu->serial)
TEXT(nvmlDeviceGetVbiosVersion, call.gpu->vbios)
TEXT(nvmlDeviceGetInforomImageVersion, call.gpu->inforom)
TEXT(nvmlDeviceGetBoardPartNumber, call.gpu->part)
NUMBER(nvmlDeviceGetMinorNumber, unsigned int, call.gpu->minor)
NUMBER(nvmlDeviceGetBrand, nvmlBrandType_t, call.gpu->brand)
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, call.gpu->architecture)
NUMBER(nvmlDeviceGetNumaNodeId, unsigned int, call.gpu->numa_node)
NUMBER(nvmlDeviceGetModuleId, unsigned int, call.gpu->module_id)
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, call.gpu->persistence)
NUMBER(nvmlDeviceGetAccountingMode, nvmlEnableState_t, call.gpu->accounting)
NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, call.gpu->compute_mode)
NUMBER(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, call.gpu->virtualization)
NUMBER(nvmlDeviceGetDisplayActive, nvmlEnableState_t, call.gpu->display)
NUMBER(nvmlDeviceGetDisplayMode, nvmlEnableState_t, call.gpu->display)
NUMBER(nvmlDeviceGetNumGpuCores, unsigned int, call.gpu->cores)
NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned int, call.gpu->bus_width)
NUMBER(nvmlDeviceGetBoardId, unsigned int, (int)(call.gpu->bus << 8))

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    BEGIN_DEVICE(nvmlDeviceGetName, device);
    char text[160];
    snprintf(text, sizeof text, call.mig ? "%s MIG %s" : "%s", call.gpu->name, call.mig ? call.mig->profile : "");
    END(copy_string(text, name, length));
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    BEGIN_DEVICE(nvmlDeviceGetIndex, device);
    REQUIRE(index);
    if (call.mig) {
        *index = (unsigned)(call.mig - call.gpu->mig);
        END(NVML_SUCCESS);
    }
    for (unsigned i = 0; i < call.snap->visible; i++)
        if (call.snap->order[i] == (unsigned)call.gpu->slot) *index = i;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, nvmlInforomObject_t object, char *version, unsigned int length)
{
    BEGIN_DEVICE(nvmlDeviceGetInforomVersion, device);
    REQUIRE((unsigned)object < NVML_INFOROM_COUNT);
    if (object == NVML_INFOROM_POWER || !*call.gpu->inforom) END(NVML_ERROR_NOT_SUPPORTED);
    END(copy_string(object == NVML_INFOROM_ECC ? "7.16" : "2.1", version, length));
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device)
{
    BEGIN_DEVICE(nvmlDeviceValidateInforom, device);
    END(*call.gpu->inforom ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

static void fill_pci(const struct gpu *gpu, nvmlPciInfo_t *pci, bool full)
{
    memset(pci->busIdLegacy, 0, sizeof pci->busIdLegacy);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", gpu->domain & 0xffff, gpu->bus & 0xff, gpu->device & 0xff);
    pci->domain = gpu->domain;
    pci->bus = gpu->bus;
    pci->device = gpu->device;
    pci->pciDeviceId = gpu->pci_device;
    pci->pciSubSystemId = gpu->pci_subsystem;
    if (!full) return; /* the structure of the first two versions ends (with reserved words) before the long form */
    memset(pci->busId, 0, sizeof pci->busId);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", gpu->domain, gpu->bus & 0xff, gpu->device & 0xff);
}

#define PCI(function, full)                                           \
    nvmlReturn_t function(nvmlDevice_t device, nvmlPciInfo_t *pci)    \
    {                                                                 \
        BEGIN_DEVICE(function, device);                               \
        REQUIRE(pci);                                                 \
        fill_pci(call.gpu, pci, full);                                \
        END(NVML_SUCCESS);                                            \
    }
PCI(nvmlDeviceGetPciInfo, false)
PCI(nvmlDeviceGetPciInfo_v2, false)
PCI(nvmlDeviceGetPciInfo_v3, true)

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
    BEGIN_DEVICE(nvmlDeviceGetPciInfoExt, device);
    REQUIRE(pci);
    if (pci->version != nvmlPciInfoExt_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    pci->domain = call.gpu->domain;
    pci->bus = call.gpu->bus;
    pci->device = call.gpu->device;
    pci->pciDeviceId = call.gpu->pci_device;
    pci->pciSubSystemId = call.gpu->pci_subsystem;
    pci->baseClass = 3;
    pci->subClass = 2;
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", call.gpu->domain, call.gpu->bus & 0xff, call.gpu->device & 0xff);
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    BEGIN_DEVICE(nvmlDeviceGetCudaComputeCapability, device);
    REQUIRE(major && minor);
    *major = call.gpu->cc_major;
    *minor = call.gpu->cc_minor;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t *mode)
{
    BEGIN_DEVICE(nvmlDeviceGetAddressingMode, device);
    REQUIRE(mode);
    if (mode->version != nvmlDeviceAddressingMode_v1) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (call.gpu->addressing == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    mode->value = (unsigned)call.gpu->addressing;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *c2cModeInfo)
{
    BEGIN_DEVICE(nvmlDeviceGetC2cModeInfoV, device);
    REQUIRE(c2cModeInfo);
    if (call.gpu->c2c == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    c2cModeInfo->isC2cEnabled = (unsigned)call.gpu->c2c;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    BEGIN_DEVICE(nvmlDeviceGetGspFirmwareVersion, device);
    END(copy_string(call.gpu->gsp, version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE));
}

nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned int *isEnabled, unsigned int *defaultMode)
{
    BEGIN_DEVICE(nvmlDeviceGetGspFirmwareMode, device);
    REQUIRE(isEnabled && defaultMode);
    if (call.gpu->gsp_mode == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    *isEnabled = *defaultMode = (unsigned)call.gpu->gsp_mode;
    END(NVML_SUCCESS);
}

/* A licence is of a virtual GPU: "license" 1 has it, 0 lacks it, 2 is of a system without licensing. */
nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features)
{
    BEGIN_DEVICE(nvmlDeviceGetGridLicensableFeatures_v4, device);
    REQUIRE(features);
    if (call.gpu->license == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    memset(features, 0, sizeof *features);
    if (call.gpu->license == 2) END(NVML_SUCCESS);
    features->isGridLicenseSupported = 1;
    features->licensableFeaturesCount = 2;
    nvmlGridLicensableFeature_t *f = features->gridLicensableFeatures;
    f[0].featureCode = NVML_GRID_LICENSE_FEATURE_CODE_VGPU;
    f[1].featureCode = NVML_GRID_LICENSE_FEATURE_CODE_COMPUTE;
    f[1].featureEnabled = 1;
    f[1].featureState = (unsigned)call.gpu->license;
    snprintf(f[1].productName, sizeof f[1].productName, "NVIDIA Virtual Compute Server");
    END(NVML_SUCCESS);
}

/* ---- the NVLink fabric that the GPU belongs to ------------------------------------------------------------------ */

static void fill_cluster(const struct gpu *gpu, unsigned char *uuid)
{
    memset(uuid, 0, NVML_GPU_FABRIC_UUID_LEN);
    int n = 0;
    for (const char *p = gpu->fabric_cluster; *p && n < NVML_GPU_FABRIC_UUID_LEN; p += 2) {
        if (*p == '-') p++;
        unsigned byte;
        if (sscanf(p, "%2x", &byte) != 1) return;
        uuid[n++] = (unsigned char)byte;
    }
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *gpuFabricInfo)
{
    BEGIN_DEVICE(nvmlDeviceGetGpuFabricInfo, device);
    REQUIRE(gpuFabricInfo);
    if (call.gpu->fabric_state == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    fill_cluster(call.gpu, gpuFabricInfo->clusterUuid);
    gpuFabricInfo->status = (nvmlReturn_t)call.gpu->fabric_status;
    gpuFabricInfo->cliqueId = (unsigned)call.gpu->fabric_clique;
    gpuFabricInfo->state = (nvmlGpuFabricState_t)call.gpu->fabric_state;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *gpuFabricInfo)
{
    BEGIN_DEVICE(nvmlDeviceGetGpuFabricInfoV, device);
    REQUIRE(gpuFabricInfo);
    bool third = gpuFabricInfo->version == nvmlGpuFabricInfo_v3 && sim_driver >= 570 && call.gpu->fabric_version >= 3;
    if (!third && gpuFabricInfo->version != nvmlGpuFabricInfo_v2) END(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (call.gpu->fabric_state == UNSUPPORTED) END(NVML_ERROR_NOT_SUPPORTED);
    fill_cluster(call.gpu, gpuFabricInfo->clusterUuid);
    gpuFabricInfo->status = (nvmlReturn_t)call.gpu->fabric_status;
    gpuFabricInfo->cliqueId = (unsigned)call.gpu->fabric_clique;
    gpuFabricInfo->state = (nvmlGpuFabricState_t)call.gpu->fabric_state;
    gpuFabricInfo->healthMask = (unsigned)call.gpu->fabric_health;
    if (third) gpuFabricInfo->healthSummary = (unsigned char)call.gpu->fabric_summary;
    END(NVML_SUCCESS);
}
