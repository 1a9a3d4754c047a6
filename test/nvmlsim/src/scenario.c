/*
 * Builds a snapshot from the text of the scenario and that of the control file, which comes later and so overrides it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim.h"

bool builder_fail(struct builder *b, int line, const char *format, ...)
{
    int n = snprintf(b->err, b->errlen, "%s:%d: ", b->text->name, line);
    if (n < 0 || (size_t)n >= b->errlen) return false;
    va_list args;
    va_start(args, format);
    vsnprintf(b->err + n, b->errlen - (size_t)n, format, args);
    va_end(args);
    return false;
}

bool bool_parse(const char *text, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "disabled", "enabled", "0", "1"};
    for (int i = 0; i < 10; i++)
        if (!strcasecmp(text, words[i])) {
            *out = i % 2;
            return true;
        }
    return false;
}

/* "*", "3", "0-3", "1,5,6-7": GPUs by their number in the scenario. */
bool slots_parse(const struct snapshot *snap, const char *text, uint64_t *out)
{
    *out = 0;
    if (!strcmp(text, "*")) {
        for (unsigned i = 0; i < snap->ngpus; i++)
            *out |= UINT64_C(1) << i;
        return true;
    }
    for (const char *p = text;;) {
        char *end;
        unsigned long from = strtoul(p, &end, 10), to = from;
        if (end == p) return false;
        if (*end == '-') {
            p = end + 1;
            to = strtoul(p, &end, 10);
            if (end == p) return false;
        }
        if (from > to || to >= snap->ngpus) return false;
        for (unsigned long i = from; i <= to; i++)
            *out |= UINT64_C(1) << i;
        while (*end == ' ')
            end++;
        if (*end == '\0') return true;
        if (*end != ',') return false;
        p = end + 1;
    }
}

bool value_set(struct builder *b, struct series *v, const struct entry *entry, bool *known)
{
    for (int id = 0; id < V_COUNT; id++) {
        if (strcmp(sim_values[id].key, entry->key)) continue;
        *known = true;
        char why[160];
        if (series_parse(b->snap->arena, entry->value, &v[id], why, sizeof why)) return true;
        return builder_fail(b, entry->line, "%s", why);
    }
    *known = false;
    return true;
}

static bool parse_order(struct builder *b, const struct entry *e)
{
    struct snapshot *snap = b->snap;
    uint64_t seen = 0;
    unsigned n = 0;
    for (const char *p = e->value; *p;) {
        char *end;
        unsigned long slot = strtoul(p, &end, 10);
        if (end == p || slot >= snap->ngpus || seen >> slot & 1) return builder_fail(b, e->line, "bad order");
        seen |= UINT64_C(1) << slot;
        snap->order[n++] = (unsigned)slot;
        p = end + strspn(end, ", ");
    }
    if (n != snap->ngpus) return builder_fail(b, e->line, "order has to name each of the %u GPUs", snap->ngpus);
    return true;
}

static bool read_system(struct builder *b, const struct section *section)
{
    struct snapshot *snap = b->snap;
    for (unsigned i = 0; i < section->count; i++) {
        const struct entry *e = &section->entries[i];
        const char *value = e->value;
        bool ok = true;
#define IS(name) !strcmp(e->key, name)
        if (IS("gpus") || IS("ack")) ok = true; /* see count_gpus; engine.c */
        else if (IS("time")) {
            snap->manual = !strcmp(value, "manual");
            ok = snap->manual || !strcmp(value, "real");
        } else if (IS("clock")) {
            snap->since_boot = !strcmp(value, "boot");
            ok = snap->since_boot || !strcmp(value, "epoch");
        } else if (IS("now")) ok = parse_duration(value, &snap->now);
        else if (IS("order")) ok = parse_order(b, e);
        else if (IS("driver.version")) snprintf(snap->driver_version, sizeof snap->driver_version, "%s", value);
        else if (IS("nvml.version")) snprintf(snap->nvml_version, sizeof snap->nvml_version, "%s", value);
        else if (IS("cuda.version")) snap->cuda_version = atoi(value);
        else if (IS("cc.environment")) snap->cc_environment = atoi(value);
        else if (IS("cc.feature")) snap->cc_feature = strcmp(value, "unsupported") ? atoi(value) : UNSUPPORTED;
        else if (IS("cc.devtools")) snap->cc_devtools = atoi(value);
        else if (IS("cc.multigpu")) snap->cc_multigpu = atoi(value);
        else if (IS("pcie.measure")) ok = parse_duration(value, &snap->pcie_seconds);
        else return builder_fail(b, e->line, "no such key: %s", e->key);
#undef IS
        if (!ok) return *b->err ? false : builder_fail(b, e->line, "bad value for %s: %s", e->key, value);
    }
    return true;
}

static bool read_gpu(struct builder *b, const struct section *section)
{
    uint64_t slots;
    if (!slots_parse(b->snap, section->arg, &slots))
        return builder_fail(b, section->line, "no such GPU: [gpu %s]", section->arg);
    for (unsigned slot = 0; slot < b->snap->ngpus; slot++)
        for (unsigned i = 0; slots >> slot & 1 && i < section->count; i++)
            if (!gpu_set(b, &b->snap->gpus[slot], &section->entries[i])) return false;
    return true;
}

static bool read_text(struct builder *b, const struct text *text)
{
    static const struct {
        const char *kind;
        bool (*read)(struct builder *, const struct section *);
    } readers[] = {
        {"system", read_system}, {"gpu", read_gpu},     {"mig", read_mig},
        {"process", read_process}, {"fault", read_fault}, {"event", read_event}, {"cost", read_cost},
    };
    b->text = text;
    for (unsigned i = 0; i < text->count; i++) {
        const struct section *section = &text->sections[i];
        size_t r = 0, n = sizeof readers / sizeof *readers;
        while (r < n && strcmp(readers[r].kind, section->kind))
            r++;
        if (r == n) return builder_fail(b, section->line, "no such section: [%s]", section->kind);
        if (!readers[r].read(b, section)) return false;
    }
    return true;
}

static unsigned count_gpus(const struct text *scenario, const struct text *control)
{
    unsigned n = 8;
    const struct text *texts[] = {scenario, control};
    for (int k = 0; k < 2; k++)
        for (unsigned i = 0; i < texts[k]->count; i++)
            for (unsigned j = 0; j < texts[k]->sections[i].count; j++) {
                const struct entry *e = &texts[k]->sections[i].entries[j];
                if (!strcmp(texts[k]->sections[i].kind, "system") && !strcmp(e->key, "gpus"))
                    n = (unsigned)strtoul(e->value, NULL, 10);
            }
    return n;
}

/* Marks the functions that must check the faults: for all others the check costs one load. */
static void mark_hot(struct snapshot *snap)
{
    for (unsigned i = 0; i < snap->nfaults; i++)
        for (int fn = 0; fn < FN_COUNT; fn++)
            if (snap->faults[i].functions[fn / 64] >> (fn % 64) & 1) snap->hot[fn] = 1;
}

/* Sums of constant values need not be computed at every call. */
static void sum_constant_memory(struct gpu *gpu)
{
    gpu->memory_constant = true;
    for (unsigned i = 0; i < gpu->nprocesses; i++) {
        const struct process *p = &gpu->processes[i];
        gpu->memory_constant &= series_constant(&p->memory) && p->from <= 0 && p->until < 0;
    }
    bool constant = gpu->memory_constant;
    gpu->memory_constant = false;
    gpu->process_memory = process_memory(gpu, -1, 0);
    gpu->memory_constant = constant;
}

struct snapshot *snapshot_build(const struct text *scenario, const struct text *control, char *err, size_t errlen)
{
    struct arena *arena = arena_new();
    struct snapshot *snap = arena_alloc(arena, sizeof *snap);
    snap->arena = arena;
    *err = '\0';
    snprintf(snap->driver_version, sizeof snap->driver_version, "%d.%s", sim_driver, sim_driver >= 580 ? "95.05" : "80.02");
    snprintf(snap->nvml_version, sizeof snap->nvml_version, "%d.%s", sim_driver >= 580 ? 13 : 11,
             snap->driver_version);
    snap->cuda_version = sim_driver >= 580 ? 13000 : sim_driver >= 470 ? 11040 : 11000;
    snap->pcie_seconds = 0.02;
    snap->cost.field_factor = 1;
    snap->ngpus = count_gpus(scenario, control);
    struct builder b = {.snap = snap, .text = scenario, .err = err, .errlen = errlen};
    if (snap->ngpus > MAX_GPUS) {
        builder_fail(&b, 1, "at most %d GPUs", MAX_GPUS);
        snapshot_free(snap);
        return NULL;
    }
    snap->gpus = arena_alloc(arena, snap->ngpus * sizeof *snap->gpus);
    for (unsigned i = 0; i < snap->ngpus; i++) {
        snap->order[i] = i;
        gpu_defaults(&snap->gpus[i], (int)i);
        for (int id = 0; id < V_COUNT; id++)
            series_parse(arena, sim_values[id].expr, &snap->gpus[i].v[id], err, errlen);
        gpu_set(&b, &snap->gpus[i], &(struct entry){.key = "board", .value = "h100"});
    }
    if (!read_text(&b, scenario) || !read_text(&b, control)) {
        snapshot_free(snap);
        return NULL;
    }
    place_processes(&b);
    for (unsigned i = 0; i < snap->ngpus; i++) {
        if (snap->gpus[snap->order[i]].present) snap->order[snap->visible++] = snap->order[i];
        sum_constant_memory(&snap->gpus[i]);
    }
    mark_hot(snap);
    return snap;
}

void snapshot_free(struct snapshot *snap)
{
    arena_free(snap->arena);
}
