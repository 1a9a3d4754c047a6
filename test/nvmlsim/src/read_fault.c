/* [fault NAME]: the failing calls, when they fail, and how. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static const struct {
    const char *name;
    nvmlReturn_t value;
} results[] = {
#define R(name) {#name, NVML_##name}, {#name + sizeof "ERROR", NVML_##name}
    {"SUCCESS", NVML_SUCCESS},
    R(ERROR_UNINITIALIZED), R(ERROR_INVALID_ARGUMENT), R(ERROR_NOT_SUPPORTED), R(ERROR_NO_PERMISSION),
    R(ERROR_NOT_FOUND), R(ERROR_INSUFFICIENT_SIZE), R(ERROR_INSUFFICIENT_POWER), R(ERROR_DRIVER_NOT_LOADED),
    R(ERROR_TIMEOUT), R(ERROR_IRQ_ISSUE), R(ERROR_LIBRARY_NOT_FOUND), R(ERROR_FUNCTION_NOT_FOUND),
    R(ERROR_CORRUPTED_INFOROM), R(ERROR_GPU_IS_LOST), R(ERROR_RESET_REQUIRED), R(ERROR_OPERATING_SYSTEM),
    R(ERROR_LIB_RM_VERSION_MISMATCH), R(ERROR_IN_USE), R(ERROR_MEMORY), R(ERROR_NO_DATA),
    R(ERROR_INSUFFICIENT_RESOURCES), R(ERROR_ARGUMENT_VERSION_MISMATCH), R(ERROR_DEPRECATED), R(ERROR_NOT_READY),
    R(ERROR_GPU_NOT_FOUND), R(ERROR_INVALID_STATE), R(ERROR_UNKNOWN),
#undef R
};

/* GPU_IS_LOST, ERROR_GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST or 15. */
bool parse_return(const char *text, nvmlReturn_t *out)
{
    if (!strncmp(text, "NVML_", 5)) text += 5;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (!strcmp(results[i].name, text)) {
            *out = results[i].value;
            return true;
        }
    char *end;
    long number = strtol(text, &end, 10);
    *out = (nvmlReturn_t)number;
    return end != text && *end == '\0' && number >= 0;
}

/* A pattern without a version suffix means all versions of the function. */
bool function_matches(const char *pattern, enum function fn)
{
    const char *name = sim_functions[fn].name;
    if (!fnmatch(pattern, name, 0)) return true;
    size_t n = strlen(name);
    if (n < 4 || name[n - 3] != '_' || name[n - 2] != 'v') return false;
    char plain[96];
    snprintf(plain, sizeof plain, "%.*s", (int)n - 3, name);
    return !fnmatch(pattern, plain, 0);
}

/* "nvmlDeviceGetPower*, !nvmlDeviceGetPowerUsage": functions that match any pattern, except those with a "!". */
static bool set_functions(struct fault *fault, const char *value)
{
    char list[1024];
    snprintf(list, sizeof list, "%s", value);
    bool found = false;
    memset(fault->functions, 0, sizeof fault->functions);
    char *rest = NULL;
    for (char *p = strtok_r(list, ", \t", &rest); p; p = strtok_r(NULL, ", \t", &rest)) {
        bool without = *p == '!';
        for (int fn = 0; fn < FN_COUNT; fn++) {
            if (!function_matches(p + without, (enum function)fn)) continue;
            uint64_t bit = UINT64_C(1) << (fn % 64);
            if (without) fault->functions[fn / 64] &= ~bit;
            else fault->functions[fn / 64] |= bit;
            found = true;
        }
    }
    return found;
}

/* ErrorString never fails, and Shutdown and Init only if named: a broken GPU does not prevent a process from ending. */
static void all_functions(struct fault *fault)
{
    set_functions(fault, fault->any_gpu ? "nvml*, !nvmlErrorString, !nvmlShutdown" : "nvml*, !nvmlErrorString, !nvmlShutdown, !nvmlInit, !nvmlInitWithFlags");
}

static bool set_kind(struct fault *fault, const char *value)
{
    static const struct {
        const char *kind;
        nvmlReturn_t result;
    } kinds[] = {{"lost", NVML_ERROR_GPU_IS_LOST}, {"reset", NVML_ERROR_RESET_REQUIRED}, {"driver", NVML_ERROR_DRIVER_NOT_LOADED}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(value, kinds[i].kind)) {
            fault->result = kinds[i].result;
            return true;
        }
    return false;
}

static bool set_fields(struct fault *fault, const char *value)
{
    fault->has_fields = true;
    for (const char *p = value; *p;) {
        char *end;
        unsigned long id = strtoul(p, &end, 10);
        if (end == p || id >= 8 * 64) return false;
        fault->fields[id / 64] |= UINT64_C(1) << (id % 64);
        p = end + strspn(end, ", ");
    }
    return true;
}

static bool set_fault(struct builder *b, struct fault *f, const struct entry *e, bool *present)
{
    const char *value = e->value;
#define IS(key_name) !strcmp(e->key, key_name)
    if (IS("gpu")) return f->any_gpu = false, slots_parse(b->snap, value, &f->gpus);
    if (IS("mig")) return f->mig = !strcmp(value, "none") ? -2 : atoi(value), f->mig < MAX_MIGS;
    if (IS("function")) return f->whole_device = false, set_functions(f, value);
    if (IS("field")) return f->whole_device = false, set_fields(f, value) && set_functions(f, "nvmlDeviceGetFieldValues");
    if (IS("kind")) return set_kind(f, value);
    if (IS("return")) return parse_return(value, &f->result);
    if (IS("at_start")) return bool_parse(value, &f->at_start);
    if (IS("calls")) return f->calls = strtoull(value, NULL, 10), true;
    if (IS("skip")) return f->skip = strtoull(value, NULL, 10), true;
    if (IS("from")) return parse_duration(value, &f->from);
    if (IS("until")) return parse_duration(value, &f->until);
    if (IS("latency")) return parse_duration(value, &f->latency);
    if (IS("wait")) return f->busy_wait = !strcmp(value, "busy"), f->busy_wait || !strcmp(value, "sleep");
    if (IS("hang")) return bool_parse(value, &f->hang) || (f->hang = parse_duration(value, &f->hang_seconds));
    if (IS("present")) return bool_parse(value, present);
#undef IS
    return false;
}

bool read_fault(struct builder *b, const struct section *section)
{
    struct fault fault = {.key = section_key(section), .any_gpu = true, .whole_device = true, .mig = -1, .until = -1};
    snprintf(fault.name, sizeof fault.name, "%s", section->arg);
    bool present = true;
    for (unsigned i = 0; i < section->count; i++) {
        const struct entry *e = &section->entries[i];
        if (!set_fault(b, &fault, e, &present))
            return builder_fail(b, e->line, "bad key or value in [fault]: %s = %s", e->key, e->value);
    }
    if (fault.whole_device) all_functions(&fault);
    struct snapshot *snap = b->snap;
    unsigned kept = 0;
    for (unsigned i = 0; i < snap->nfaults; i++)
        if (strcmp(snap->faults[i].name, fault.name)) snap->faults[kept++] = snap->faults[i];
    snap->nfaults = kept;
    if (!present) return true;
    struct fault *bigger = arena_alloc(snap->arena, (snap->nfaults + 1) * sizeof *bigger);
    if (snap->nfaults) memcpy(bigger, snap->faults, snap->nfaults * sizeof *bigger);
    bigger[snap->nfaults++] = fault;
    snap->faults = bigger;
    return true;
}
