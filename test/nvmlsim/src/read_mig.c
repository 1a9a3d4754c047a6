/* [mig GPU INDEX]: a MIG device of a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/*
 * The defaults of a profile of an 80 GB Hopper board, by its number of slices. Memory follows from the profile's name.
 */
static const struct {
    unsigned slices, multiprocessors, copy_engines, decoders;
} sizes[] = {{1, 16, 1, 1}, {2, 32, 2, 2}, {3, 60, 3, 3}, {4, 64, 4, 4}, {7, 132, 8, 7}};

static bool set_profile(struct builder *b, struct mig *mig, const char *value)
{
    unsigned compute, gpu, gb;
    if (sscanf(value, "%uc.%ug.%ugb", &compute, &gpu, &gb) != 3) {
        if (sscanf(value, "%ug.%ugb", &gpu, &gb) != 2) return false;
        compute = gpu;
    }
    snprintf(mig->profile, sizeof mig->profile, "%s", value);
    mig->gpu_slices = gpu;
    mig->compute_slices = compute;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].slices == gpu) {
            mig->multiprocessors = sizes[i].multiprocessors * compute / gpu;
            mig->copy_engines = sizes[i].copy_engines;
            mig->decoders = mig->jpegs = sizes[i].decoders;
        }
    char memory[32], why[80];
    snprintf(memory, sizeof memory, "%uMi", gb * 1000 - 320);
    return series_parse(b->snap->arena, memory, &mig->v[V_MEMORY_TOTAL], why, sizeof why);
}

static void new_mig(struct builder *b, struct gpu *gpu, struct mig *mig, unsigned index)
{
    char why[80];
    memset(mig, 0, sizeof *mig);
    mig->present = true;
    mig->gi = index + 1;
    mig->start = index;
    for (int id = 0; id < V_COUNT; id++)
        series_parse(b->snap->arena, sim_values[id].expr, &mig->v[id], why, sizeof why);
    series_parse(b->snap->arena, "50Mi", &mig->v[V_MEMORY_RESERVED], why, sizeof why);
    if (sim_driver < 470) /* the older form: the parent's UUID and the two ids */
        snprintf(mig->uuid, sizeof mig->uuid, "MIG-%.60s/%u/%u", gpu->uuid, mig->gi, mig->ci);
    else
        snprintf(mig->uuid, sizeof mig->uuid, "MIG-%08x-5eed-5a11-9e0f-%06x%06x", 0x3b7d9e00u + (unsigned)gpu->slot * 16 + index,
                 0xdecaf0u, (unsigned)gpu->slot * 256 + index);
}

static bool set_mig(struct builder *b, struct mig *mig, const struct entry *e, bool *known)
{
    static const struct {
        const char *key;
        size_t offset;
    } numbers[] = {
        {"gi", offsetof(struct mig, gi)}, {"ci", offsetof(struct mig, ci)}, {"start", offsetof(struct mig, start)},
        {"multiprocessors", offsetof(struct mig, multiprocessors)}, {"copy_engines", offsetof(struct mig, copy_engines)},
        {"decoders", offsetof(struct mig, decoders)}, {"encoders", offsetof(struct mig, encoders)},
        {"jpegs", offsetof(struct mig, jpegs)}, {"ofas", offsetof(struct mig, ofas)},
    };
    *known = true;
    if (!strcmp(e->key, "present")) return bool_parse(e->value, &mig->present);
    if (!strcmp(e->key, "profile")) return set_profile(b, mig, e->value);
    if (!strcmp(e->key, "uuid")) return snprintf(mig->uuid, sizeof mig->uuid, "%s", e->value) > 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(e->key, numbers[i].key)) {
            unsigned value = (unsigned)strtoul(e->value, NULL, 10);
            memcpy((char *)mig + numbers[i].offset, &value, sizeof value);
            return true;
        }
    *known = false;
    return true;
}

bool read_mig(struct builder *b, const struct section *section)
{
    char gpus[32];
    unsigned index;
    uint64_t slots;
    if (sscanf(section->arg, "%31s %u", gpus, &index) != 2 || index >= MAX_MIGS || !slots_parse(b->snap, gpus, &slots))
        return builder_fail(b, section->line, "write [mig GPU INDEX], INDEX below %d", MAX_MIGS);
    for (unsigned slot = 0; slot < b->snap->ngpus; slot++) {
        if (!(slots >> slot & 1)) continue;
        struct gpu *gpu = &b->snap->gpus[slot];
        struct mig *mig = &gpu->mig[index];
        if (!*mig->uuid) new_mig(b, gpu, mig, index);
        for (unsigned i = 0; i < section->count; i++) {
            const struct entry *e = &section->entries[i];
            bool known, ok = set_mig(b, mig, e, &known);
            if (!known && !value_set(b, mig->v, e, &known)) return false;
            if (!known || !ok) return builder_fail(b, e->line, "bad key or value in [mig]: %s = %s", e->key, e->value);
        }
    }
    return true;
}
