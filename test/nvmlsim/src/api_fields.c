/* nvmlDeviceGetFieldValues: the value and the type of each field. */
#include <limits.h>
#include <string.h>

#include "sim.h"

enum field_kind {
    F_UNKNOWN,
    F_VALUE, /* of the GPU */
    F_LANE,  /* of the link that the id names */
    F_TOTAL, /* summed over the links */
    F_LINK,  /* of the link in scopeId; all links with UINT_MAX */
    F_LINK5, /* as F_LINK, on NVLink 5 only */
    F_SCOPE, /* of the GPU with scopeId 0, of the module with 1, of the memory with 2 */
    F_ZERO,  /* known, and always 0 */
    F_OTHER, /* computed below */
};

struct field {
    unsigned char kind, type, link;
    short since;
    short value, module, memory;
};

#define U32 NVML_VALUE_TYPE_UNSIGNED_INT
#define U64 NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
#define S32 NVML_VALUE_TYPE_SIGNED_INT

#define ONE(id, since, type, v) [id] = {F_VALUE, type, 0, since, V_##v, 0, 0}
#define ZERO(id, since) [id] = {F_ZERO, U32, 0, since, 0, 0, 0}
#define OTHER(id, since, type) [id] = {F_OTHER, type, 0, since, 0, 0, 0}
#define LANE(id, since, v, lane) [id] = {F_LANE, U64, lane, since, V_##v, 0, 0}
#define SIX(id, since, v, lane)                                                                           \
    LANE(id, since, v, lane), LANE((id) + 1, since, v, (lane) + 1), LANE((id) + 2, since, v, (lane) + 2), \
        LANE((id) + 3, since, v, (lane) + 3), LANE((id) + 4, since, v, (lane) + 4), LANE((id) + 5, since, v, (lane) + 5)
#define TOTAL(id, since, v) [id] = {F_TOTAL, U64, 0, since, V_##v, 0, 0}
#define LINK(id, since, v) [id] = {F_LINK, U64, 0, since, V_##v, 0, 0}
#define LINK5(id, v) [id] = {F_LINK5, U64, 0, 560, V_##v, 0, 0}
#define BINS4(id) LINK5(id, NVLINK_FEC), LINK5((id) + 1, NVLINK_FEC), LINK5((id) + 2, NVLINK_FEC), LINK5((id) + 3, NVLINK_FEC)
#define SCOPE(id, type, v, m, mem) [id] = {F_SCOPE, type, 0, 530, V_##v, m, mem}
#define PLACE(first, cor, unc) ONE(first, 300, U64, cor), ONE((first) + 1, 300, U64, unc)

static const struct field fields[NVML_FI_MAX] = {
    OTHER(1, 300, U64), OTHER(2, 300, U64),
    ONE(3, 300, U64, ECC_VOL_COR), ONE(4, 300, U64, ECC_VOL_UNC), ONE(5, 300, U64, ECC_AGG_COR), ONE(6, 300, U64, ECC_AGG_UNC),
    PLACE(7, ECC_VOL_COR_L1, ECC_VOL_UNC_L1), PLACE(9, ECC_VOL_COR_L2, ECC_VOL_UNC_L2),
    PLACE(11, ECC_VOL_COR_DRAM, ECC_VOL_UNC_DRAM), PLACE(13, ECC_VOL_COR_REG, ECC_VOL_UNC_REG),
    PLACE(18, ECC_AGG_COR_L1, ECC_AGG_UNC_L1), PLACE(20, ECC_AGG_COR_L2, ECC_AGG_UNC_L2),
    PLACE(22, ECC_AGG_COR_DRAM, ECC_AGG_UNC_DRAM), PLACE(24, ECC_AGG_COR_REG, ECC_AGG_UNC_REG),
    ONE(29, 300, U32, RETIRED_SBE), ONE(30, 300, U32, RETIRED_DBE), ONE(31, 300, U32, RETIRED_PENDING),
    SIX(32, 384, NVLINK_CRC_FLIT, 0), TOTAL(38, 384, NVLINK_CRC_FLIT),
    SIX(39, 384, NVLINK_CRC_DATA, 0), TOTAL(45, 384, NVLINK_CRC_DATA),
    SIX(46, 384, NVLINK_REPLAY, 0), TOTAL(52, 384, NVLINK_REPLAY),
    SIX(53, 384, NVLINK_RECOVERY, 0), TOTAL(59, 384, NVLINK_RECOVERY),
    ONE(74, 384, U64, VIOLATION_POWER), ONE(75, 384, U64, VIOLATION_THERMAL), ONE(76, 384, U64, VIOLATION_SYNC_BOOST),
    ONE(77, 384, U64, VIOLATION_BOARD_LIMIT), ONE(78, 384, U64, VIOLATION_LOW_UTIL), ONE(79, 384, U64, VIOLATION_RELIABILITY),
    ONE(80, 384, U64, VIOLATION_APP_CLOCKS), ONE(81, 384, U64, VIOLATION_BASE_CLOCKS),
    ONE(82, 390, U32, TEMPERATURE_MEMORY), ONE(83, 390, U64, ENERGY),
    SIX(84, 390, NVLINK_SPEED, 0), LANE(90, 390, NVLINK_SPEED, 0), OTHER(91, 390, U32),
    ONE(92, 410, U32, RETIRED_PENDING_SBE), ONE(93, 410, U32, RETIRED_PENDING_DBE),
    ONE(94, 410, U32, PCIE_REPLAY), ONE(95, 410, U32, PCIE_REPLAY_ROLLOVER),
    SIX(96, 450, NVLINK_CRC_FLIT, 6), SIX(102, 450, NVLINK_CRC_DATA, 6), SIX(108, 450, NVLINK_REPLAY, 6),
    SIX(114, 450, NVLINK_RECOVERY, 6), SIX(132, 450, NVLINK_SPEED, 6),
    LINK(138, 450, NVLINK_TX_BYTES), LINK(139, 450, NVLINK_RX_BYTES), LINK(140, 450, NVLINK_TX_BYTES), LINK(141, 450, NVLINK_RX_BYTES),
    ONE(142, 450, U64, REMAPPED_COR), ONE(143, 450, U64, REMAPPED_UNC), ONE(144, 450, U64, REMAPPED_PENDING), ONE(145, 450, U64, REMAPPED_FAILURE),
    OTHER(147, 460, U32), SIX(148, 460, NVLINK_ECC, 0), SIX(154, 460, NVLINK_ECC, 6), TOTAL(160, 460, NVLINK_ECC),
    LINK(161, 515, NVLINK_REPLAY), LINK(162, 515, NVLINK_RECOVERY), LINK(163, 515, NVLINK_CRC_FLIT),
    OTHER(164, 515, U32), OTHER(165, 515, U32), OTHER(166, 515, U32),
    ONE(169, 530, U32, PCIE_RECOVERIES), OTHER(170, 530, U32),
    ZERO(173, 530), ONE(174, 530, U32, PCIE_NAKS_RECEIVED), ZERO(175, 530), ZERO(176, 530), ONE(177, 530, U32, PCIE_NAKS_SENT), ZERO(178, 530), ZERO(179, 530),
    ZERO(180, 530), ZERO(181, 530), ZERO(182, 530), ZERO(183, 530),
    SCOPE(185, U32, POWER_AVERAGE, V_POWER_MODULE, V_POWER_MEMORY), SCOPE(186, U32, POWER_INSTANT, V_POWER_MODULE, V_POWER_MEMORY),
    SCOPE(187, U32, POWER_MIN, -1, -1), SCOPE(188, U32, POWER_MAX, V_POWER_MODULE_LIMIT, -1),
    SCOPE(189, U32, POWER_DEFAULT, V_POWER_MODULE_LIMIT, -1), SCOPE(190, U32, POWER_ENFORCED, V_POWER_MODULE_LIMIT, -1),
    SCOPE(191, U64, ENERGY, V_ENERGY_MODULE, -1), SCOPE(192, U32, POWER_LIMIT, V_POWER_MODULE_LIMIT, -1),
    ONE(193, 535, S32, TLIMIT_SHUTDOWN), ONE(194, 535, S32, TLIMIT_SLOWDOWN), ONE(195, 535, S32, TLIMIT_MEM_MAX), ONE(196, 535, S32, TLIMIT_GPU_MAX),
    ONE(197, 535, U32, PCIE_TX_BYTES), ONE(198, 535, U32, PCIE_RX_BYTES), ZERO(184, 535), ZERO(199, 550),
    LINK5(201, NVLINK_TX_BYTES), LINK5(202, NVLINK_TX_BYTES), LINK5(203, NVLINK_RX_BYTES), LINK5(204, NVLINK_RX_BYTES),
    LINK5(206, NVLINK_MALFORMED), LINK5(207, NVLINK_OVERRUN), LINK5(208, NVLINK_RCV_ERRORS), LINK5(209, NVLINK_REMOTE_ERRORS),
    LINK5(210, NVLINK_GENERAL_ERRORS), LINK5(211, NVLINK_INTEGRITY), LINK5(212, NVLINK_DISCARDS), LINK5(213, NVLINK_RECOVERED),
    LINK5(214, NVLINK_UNRECOVERED), LINK5(215, NVLINK_RECOVERED), LINK5(219, NVLINK_EFFECTIVE_ERRORS), LINK5(220, NVLINK_EFFECTIVE_BER),
    LINK5(221, NVLINK_SYMBOL_ERRORS), LINK5(222, NVLINK_SYMBOL_BER),
    BINS4(235), BINS4(239), BINS4(243), BINS4(247),
    ZERO(226, 560), ZERO(227, 560), ZERO(228, 560), ZERO(229, 560), ONE(230, 565, U32, RECOVERY_ACTION),
    ONE(269, 570, U64, VIOLATION_SW_THERMAL), ONE(270, 570, U64, VIOLATION_HW_THERMAL), ONE(271, 570, U64, VIOLATION_POWER_BRAKE),
    ONE(301, 580, U32, REMAPPED_COR_INACT), ONE(302, 580, U32, REMAPPED_UNC_INACT),
};

#define PACKET 256 /* bytes, where a field counts packets */

static unsigned active_links(const struct gpu *gpu)
{
    unsigned n = 0;
    for (int link = 0; link < gpu->links; link++)
        n += !(gpu->links_down >> link & 1);
    return n;
}

static nvmlReturn_t of_link(struct call *call, const struct field *f, unsigned id, unsigned link, unsigned long long *out)
{
    const struct gpu *gpu = call->gpu;
    bool all = link == UINT_MAX;
    if (gpu->links <= 0) return NVML_ERROR_NOT_SUPPORTED;
    if ((f->kind == F_LINK5) != (gpu->link_version >= 5) && !(id >= 138 && id <= 141)) return NVML_ERROR_NOT_SUPPORTED;
    if (!all && link >= (unsigned)gpu->links) return f->kind == F_LANE ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t ret = value_u64(call, (enum value)f->value, out);
    if (ret != NVML_SUCCESS) return ret;
    if (all) *out *= active_links(gpu);
    else if (gpu->links_down >> link & 1) *out = 0;
    if (id >= 138 && id <= 141) *out /= 1024;      /* KiB */
    if (id == 140 || id == 141) *out += *out / 20; /* with the protocol's own traffic */
    if (id == 201 || id == 203) *out /= PACKET;
    if (id == 215) {
        unsigned long long failed = 0;
        value_u64(call, V_NVLINK_UNRECOVERED, &failed);
        *out += failed;
    }
    return NVML_SUCCESS;
}

static nvmlReturn_t other(struct call *call, unsigned id, unsigned scope, unsigned long long *out)
{
    const struct gpu *gpu = call->gpu;
    switch (id) {
    case 1:
    case 2:
        if (gpu->ecc == UNSUPPORTED) return NVML_ERROR_NOT_SUPPORTED;
        *out = (unsigned)(id == 1 || gpu->ecc_pending == INT32_MAX ? gpu->ecc : gpu->ecc_pending);
        return NVML_SUCCESS;
    case 91:
        *out = gpu->links > 0 ? (unsigned)gpu->links : 0;
        return NVML_SUCCESS;
    case 147:
        *out = gpu->link_remote == NVML_NVLINK_DEVICE_TYPE_SWITCH ? active_links(gpu) : 0;
        return NVML_SUCCESS;
    case 170:
        *out = gpu->c2c == 1 ? 10 : 0;
        return NVML_SUCCESS;
    default: /* 164, 165, 166: speed, state and version of a link */
        if (gpu->links <= 0) return NVML_ERROR_NOT_SUPPORTED;
        if (scope >= (unsigned)gpu->links) return NVML_ERROR_INVALID_ARGUMENT;
        bool up = !(gpu->links_down >> scope & 1);
        *out = id == 165 ? up : link_version(gpu);
        if (id != 164) return NVML_SUCCESS;
        *out = 0;
        return up ? value_u64(call, V_NVLINK_SPEED, out) : NVML_SUCCESS;
    }
}

static nvmlReturn_t scoped(struct call *call, const struct field *f, unsigned scope, unsigned long long *out)
{
    int id = scope == NVML_POWER_SCOPE_GPU ? f->value : scope == NVML_POWER_SCOPE_MODULE ? f->module : scope == NVML_POWER_SCOPE_MEMORY ? f->memory : -2;
    if (id == -2) return NVML_ERROR_INVALID_ARGUMENT;
    return id < 0 ? NVML_ERROR_NOT_SUPPORTED : value_u64(call, (enum value)id, out);
}

static nvmlReturn_t read_field(struct call *call, const struct field *f, nvmlFieldValue_t *out)
{
    unsigned long long value = 0;
    nvmlReturn_t ret;
    switch (f->kind) {
    case F_VALUE:
        if (f->type == S32) {
            memset(&out->value, 0, sizeof out->value);
            return value_int(call, (enum value)f->value, &out->value.siVal);
        }
        if (f->value >= V_REMAPPED_COR && f->value <= V_REMAPPED_UNC_INACT && partitioned(call->gpu)) return NVML_ERROR_NOT_SUPPORTED;
        ret = value_u64(call, (enum value)f->value, &value);
        break;
    case F_LANE:
        ret = of_link(call, f, out->fieldId, f->link, &value);
        break;
    case F_TOTAL:
        ret = of_link(call, f, out->fieldId, UINT_MAX, &value);
        break;
    case F_LINK:
    case F_LINK5:
        ret = of_link(call, f, out->fieldId, out->scopeId, &value);
        break;
    case F_SCOPE:
        ret = scoped(call, f, out->scopeId, &value);
        break;
    case F_ZERO:
        ret = NVML_SUCCESS;
        break;
    default:
        ret = other(call, out->fieldId, out->scopeId, &value);
        break;
    }
    if ((f->value == V_PCIE_TX_BYTES || f->value == V_PCIE_RX_BYTES) && (call->v[V_PCIE_TX_BYTES].kind != S_AUTO || call->v[V_PCIE_RX_BYTES].kind != S_AUTO))
        out->valueType = U64; /* of a driver whose counters are wider */
    out->value.ullVal = out->valueType == U32 ? (unsigned int)value : value;
    return ret;
}

/* field.N of the scenario: any field, also fields that are not modelled. */
static bool overridden(struct call *call, nvmlFieldValue_t *out)
{
    for (const struct field_override *o = call->gpu->fields; o; o = o->next) {
        if (o->id != out->fieldId || (o->scope >= 0 && (unsigned)o->scope != out->scopeId)) continue;
        out->nvmlReturn = o->value.kind == S_ERROR ? o->value.error : NVML_SUCCESS;
        double value = series_at(&o->value, call_time(call));
        out->value.sllVal = (long long)value;
        if (o->value.kind == S_RAW) out->value.ullVal = o->value.raw;
        return true;
    }
    return false;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
    static const struct field unknown = {.kind = F_UNKNOWN, .type = U64};
    BEGIN_DEVICE(nvmlDeviceGetFieldValues, device);
    REQUIRE(values && valuesCount > 0);
    long long now = (long long)call_timestamp(call_time(&call));
    for (int i = 0; i < valuesCount; i++) {
        nvmlFieldValue_t *out = &values[i];
        if (out->fieldId < MAX_FIELD) call.cost += (uint64_t)((double)call.snap->cost.fields[out->fieldId] * call.snap->cost.field_factor + 0.5);
        const struct field *f = out->fieldId < NVML_FI_MAX ? &fields[out->fieldId] : &unknown;
        out->timestamp = now;
        out->latencyUsec = 1;
        out->valueType = (nvmlValueType_t)(f->kind == F_UNKNOWN ? U64 : f->type);
        out->nvmlReturn = fault_field(&call, out->fieldId);
        if (out->nvmlReturn != NVML_SUCCESS || (call.gpu->fields && overridden(&call, out))) continue;
        if (f->kind == F_UNKNOWN) out->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        else if (f->since > sim_driver) out->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT; /* not a field id yet */
        else if (call.mig && out->fieldId > 28) out->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        else out->nvmlReturn = read_field(&call, f, out);
    }
    END(NVML_SUCCESS);
}
