/* [process NAME]: a process that uses GPUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

struct process_section {
    struct process p;
    uint64_t gpus;
    unsigned count; /* per GPU; 0: one process, the same on all its GPUs */
    bool present;
    char id[64];
    struct process_section *next;
};

static bool set_pid(const char *value, unsigned *pid)
{
    char *end;
    *pid = !strcmp(value, "self") ? (unsigned)getpid() : !strcmp(value, "parent") ? (unsigned)getppid() : 0;
    if (*pid) return true;
    if (*value == '$') value = getenv(value + 1) ? getenv(value + 1) : "";
    *pid = (unsigned)strtoul(value, &end, 10);
    return end != value && *end == '\0';
}

static bool set_process(struct builder *b, struct process_section *s, const struct entry *e, char *why, size_t whylen)
{
    struct process *p = &s->p;
    const struct {
        const char *key;
        struct series *out;
    } numbers[] = {{"memory", &p->memory}, {"sm", &p->sm},   {"mem", &p->mem}, {"enc", &p->enc},
                   {"dec", &p->dec},       {"jpg", &p->jpg}, {"ofa", &p->ofa}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(e->key, numbers[i].key)) return series_parse(b->snap->arena, e->value, numbers[i].out, why, whylen);
#define IS(key_name) !strcmp(e->key, key_name)
    if (IS("gpu")) return slots_parse(b->snap, e->value, &s->gpus);
    if (IS("pid")) return set_pid(e->value, &p->pid);
    if (IS("count")) return s->count = (unsigned)strtoul(e->value, NULL, 10), true;
    if (IS("name")) return snprintf(p->name, sizeof p->name, "%s", e->value) > 0;
    if (IS("type")) return p->type = *e->value == 'g' || *e->value == 'G' ? 'G' : *e->value == 'm' || *e->value == 'M' ? 'M' : 'C', true;
    if (IS("mig")) return p->mig = atoi(e->value), p->mig < MAX_MIGS;
    if (IS("present")) return bool_parse(e->value, &s->present);
    if (IS("listed")) return bool_parse(e->value, &p->listed);
    if (IS("sampled")) return bool_parse(e->value, &p->sampled);
    if (IS("from")) return parse_duration(e->value, &p->from);
    if (IS("until")) return parse_duration(e->value, &p->until);
#undef IS
    snprintf(why, whylen, "no such key");
    return false;
}

static void add_process(struct builder *b, struct gpu *gpu, const struct process *p)
{
    /* The arena frees nothing until the snapshot ends: the array doubles, so that the copies stay proportional. */
    if (!(gpu->nprocesses & (gpu->nprocesses - 1))) {
        unsigned room = gpu->nprocesses ? 2 * gpu->nprocesses : 1;
        struct process *bigger = arena_alloc(b->snap->arena, room * sizeof *bigger);
        if (gpu->nprocesses) memcpy(bigger, gpu->processes, gpu->nprocesses * sizeof *bigger);
        gpu->processes = bigger;
    }
    gpu->processes[gpu->nprocesses++] = *p;
}

/*
 * A section's name identifies a process: a section of the same name, for example in the control file, changes the
 * earlier one.
 */
static struct process_section *section_of(struct builder *b, const char *id)
{
    struct process_section **link = &b->processes;
    for (; *link; link = &(*link)->next)
        if (!strcmp((*link)->id, id)) return *link;
    struct process_section *s = *link = arena_alloc(b->snap->arena, sizeof *s);
    s->present = true;
    s->p = (struct process){.type = 'C', .mig = -1, .listed = true, .sampled = true, .until = -1};
    snprintf(s->id, sizeof s->id, "%s", id);
    snprintf(s->p.name, sizeof s->p.name, "%s", id);
    return s;
}

bool read_process(struct builder *b, const struct section *section)
{
    struct process_section *s = section_of(b, section->arg);
    for (unsigned i = 0; i < section->count; i++) {
        const struct entry *e = &section->entries[i];
        char why[160] = "";
        if (!set_process(b, s, e, why, sizeof why))
            return builder_fail(b, e->line, "bad key or value in [process]: %s = %s%s%s", e->key, e->value, *why ? ": " : "", why);
    }
    return true;
}

/* After all is read, every GPU gets its processes. */
void place_processes(struct builder *b)
{
    for (struct process_section *s = b->processes; s; s = s->next) {
        struct process p = s->p;
        unsigned k = 0;
        for (unsigned slot = 0; s->present && slot < b->snap->ngpus; slot++) {
            if (!(s->gpus >> slot & 1)) continue;
            for (unsigned i = 0; i < (s->count ? s->count : 1); i++) {
                if (s->count) p.pid = s->p.pid + k++;
                add_process(b, &b->snap->gpus[slot], &p);
            }
        }
    }
}
