/* The value at a time: the scenario's expression, or a value derived from others if it is "auto". */
#include <math.h>
#include <string.h>

#include "sim.h"

const struct value_info sim_values[V_COUNT] = {
#define V(id, key, factor, max, expr) [V_##id] = {key, factor, max, expr},
#include "values.def"
#undef V
};

/* "auto" values that equal another, possibly with a factor. */
static const struct {
    enum value of;
    double times;
} same[V_COUNT] = {
    [V_POWER_AVERAGE] = {V_POWER, 1},         [V_POWER_INSTANT] = {V_POWER, 1},
    [V_POWER_ENFORCED] = {V_POWER_LIMIT, 1},  [V_POWER_DEFAULT] = {V_POWER_LIMIT, 1},
    [V_POWER_MAX] = {V_POWER_LIMIT, 1},       [V_CLOCK_SM] = {V_CLOCK_GRAPHICS, 1},
    [V_CLOCK_MAX_SM] = {V_CLOCK_MAX_GRAPHICS, 1},
    [V_PCIE_GEN_MAX] = {V_PCIE_GEN, 1},       [V_PCIE_GEN_GPU_MAX] = {V_PCIE_GEN_MAX, 1},
    [V_ECC_VOL_COR_DRAM] = {V_ECC_VOL_COR, 1}, [V_ECC_VOL_UNC_DRAM] = {V_ECC_VOL_UNC, 1},
    [V_ECC_AGG_COR_DRAM] = {V_ECC_AGG_COR, 1}, [V_ECC_AGG_UNC_DRAM] = {V_ECC_AGG_UNC, 1},
    [V_SRAM_VOL_SECDED] = {V_ECC_VOL_UNC_SRAM, 1}, [V_SRAM_AGG_SECDED] = {V_ECC_AGG_UNC_SRAM, 1},
    [V_RETIRED_PENDING_SBE] = {V_RETIRED_PENDING, 1}, [V_RETIRED_PENDING_DBE] = {V_RETIRED_PENDING, 1},
    [V_GPM_GRAPHICS] = {V_UTIL_GPU, 1},       [V_GPM_SM] = {V_UTIL_GPU, 0.9},
    [V_GPM_HMMA] = {V_GPM_TENSOR, 1},         [V_GPM_DRAM] = {V_UTIL_MEMORY, 1},
    [V_GPM_NVDEC] = {V_UTIL_DECODER, 1},      [V_GPM_NVJPG] = {V_UTIL_JPEG, 1},
    [V_GPM_NVOFA] = {V_UTIL_OFA, 1},
};

/* "auto" values that are the integral of another. */
static const enum value rate_of[V_COUNT] = {
    [V_ENERGY] = V_POWER,          [V_ENERGY_MODULE] = V_POWER_MODULE,
    [V_PCIE_TX_BYTES] = V_PCIE_TX, [V_PCIE_RX_BYTES] = V_PCIE_RX,
    [V_NVLINK_TX_BYTES] = V_NVLINK_TX, [V_NVLINK_RX_BYTES] = V_NVLINK_RX,
};

static nvmlReturn_t automatic(const struct gpu *gpu, const struct series *v, enum value id, double t, double *out)
{
    if (id == V_MEMORY_USED) {
        int mig = v == gpu->v ? -1 : (int)((const struct mig *)((const char *)v - offsetof(struct mig, v)) - gpu->mig);
        *out = series_at(&v[V_MEMORY_BASE], t) + process_memory(gpu, mig, t);
        return NVML_SUCCESS;
    }
    if (same[id].times != 0) {
        nvmlReturn_t ret = value_at(gpu, v, same[id].of, t, out);
        *out *= same[id].times;
        return ret;
    }
    if (rate_of[id]) {
        nvmlReturn_t ret = value_integral(gpu, v, rate_of[id], t, out);
        if (id == V_PCIE_TX_BYTES || id == V_PCIE_RX_BYTES) *out = fmod(*out, 4294967296); /* the kernel's driver has 32 bits for them */
        return ret;
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

/* In the scenario's unit. */
nvmlReturn_t value_at(const struct gpu *gpu, const struct series *v, enum value id, double t, double *out)
{
    const struct series *s = &v[id];
    *out = 0;
    if (s->kind == S_CONST && !s->plus) {
        *out = s->a;
        return NVML_SUCCESS;
    }
    if (s->kind == S_ERROR) return s->error;
    nvmlReturn_t ret = NVML_SUCCESS;
    if (s->kind == S_AUTO) ret = automatic(gpu, v, id, t, out);
    else *out = series_at(s, t);
    double max = sim_values[id].max;
    if (max > 0 && s->kind != S_RAW) *out = fmin(fmax(*out, 0), max);
    return ret;
}

nvmlReturn_t value_integral(const struct gpu *gpu, const struct series *v, enum value id, double t, double *out)
{
    const struct series *s = &v[id];
    *out = 0;
    if (s->kind == S_ERROR) return s->error;
    if (s->kind == S_AUTO && same[id].times != 0) {
        nvmlReturn_t ret = value_integral(gpu, v, same[id].of, t, out);
        *out *= same[id].times;
        return ret;
    }
    if (s->kind == S_AUTO) return NVML_ERROR_NOT_SUPPORTED;
    *out = series_integral(s, t) + s->carried;
    return NVML_SUCCESS;
}

static bool plain(const struct series *s)
{
    return s->kind == S_CONST && !s->plus;
}

nvmlReturn_t value_real(struct call *c, enum value id, double *out)
{
    if (plain(&c->v[id])) {
        *out = c->v[id].a * sim_values[id].factor;
        return NVML_SUCCESS;
    }
    nvmlReturn_t ret = value_at(c->gpu, c->v, id, call_time(c), out);
    if (c->v[id].kind != S_RAW) *out *= sim_values[id].factor;
    return ret;
}

nvmlReturn_t value_u64(struct call *c, enum value id, unsigned long long *out)
{
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (c->v[id].kind == S_RAW) {
        *out = c->v[id].raw;
        return NVML_SUCCESS;
    }
    double x;
    nvmlReturn_t ret = value_real(c, id, &x);
    if (ret != NVML_SUCCESS) return ret;
    *out = x > 0 ? (unsigned long long)(x + 1e-6) : 0; /* 1e-6: 0.3 W * 1000 must give 300 */
    return NVML_SUCCESS;
}

nvmlReturn_t value_u32(struct call *c, enum value id, unsigned int *out)
{
    unsigned long long x = 0;
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t ret = value_u64(c, id, &x);
    if (ret == NVML_SUCCESS) *out = (unsigned int)x;
    return ret;
}

nvmlReturn_t value_int(struct call *c, enum value id, int *out)
{
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (c->v[id].kind == S_RAW) {
        *out = (int)c->v[id].raw;
        return NVML_SUCCESS;
    }
    double x;
    nvmlReturn_t ret = value_real(c, id, &x);
    if (ret == NVML_SUCCESS) *out = (int)lrint(x);
    return ret;
}

nvmlReturn_t copy_string(const char *text, char *out, unsigned int length)
{
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (!*text) return NVML_ERROR_NOT_SUPPORTED; /* so the scenario says that the board has none */
    size_t size = strlen(text) + 1;
    if (size > length) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, size);
    return NVML_SUCCESS;
}
