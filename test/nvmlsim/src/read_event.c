/* [event NAME]: an XID or another event of a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static bool parse_event_type(const char *value, unsigned long long *out)
{
    static const struct {
        const char *name;
        unsigned long long type;
    } types[] = {
        {"xid", nvmlEventTypeXidCriticalError}, {"sbe", nvmlEventTypeSingleBitEccError},
        {"dbe", nvmlEventTypeDoubleBitEccError}, {"pstate", nvmlEventTypePState}, {"clock", nvmlEventTypeClock},
        {"sbe_storm", nvmlEventTypeSingleBitEccErrorStorm}, {"dram_retirement", nvmlEventTypeDramRetirementEvent},
        {"dram_retirement_failure", nvmlEventTypeDramRetirementFailure}, {"poison", nvmlEventTypeNonFatalPoisonError},
        {"fatal_poison", nvmlEventTypeFatalPoisonError}, {"unavailable", nvmlEventTypeGpuUnavailableError},
        {"recovery_action", nvmlEventTypeGpuRecoveryAction},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(value, types[i].name)) {
            *out = types[i].type;
            return true;
        }
    char *end;
    *out = strtoull(value, &end, 0);
    return end != value && *end == '\0';
}

bool read_event(struct builder *b, const struct section *section)
{
    struct event event = {.key = section_key(section), .gpu = -1, .mig = -1, .type = nvmlEventTypeXidCriticalError, .at = -1};
    snprintf(event.name, sizeof event.name, "%s", section->arg);
    bool present = true;
    for (unsigned i = 0; i < section->count; i++) {
        const struct entry *e = &section->entries[i];
        bool ok = true;
        if (!strcmp(e->key, "gpu")) event.gpu = atoi(e->value), ok = (unsigned)event.gpu < b->snap->ngpus;
        else if (!strcmp(e->key, "mig")) event.mig = atoi(e->value), ok = event.mig < MAX_MIGS;
        else if (!strcmp(e->key, "type")) ok = parse_event_type(e->value, &event.type);
        else if (!strcmp(e->key, "data") || !strcmp(e->key, "xid")) event.data = strtoull(e->value, NULL, 0);
        else if (!strcmp(e->key, "at")) ok = parse_duration(e->value, &event.at);
        else if (!strcmp(e->key, "repeat")) ok = parse_duration(e->value, &event.repeat);
        else if (!strcmp(e->key, "present")) ok = bool_parse(e->value, &present);
        else ok = false;
        if (!ok) return builder_fail(b, e->line, "bad key or value in [event]: %s = %s", e->key, e->value);
    }
    struct snapshot *snap = b->snap;
    unsigned kept = 0;
    for (unsigned i = 0; i < snap->nevents; i++)
        if (strcmp(snap->events[i].name, event.name)) snap->events[kept++] = snap->events[i];
    snap->nevents = kept;
    if (!present) return true;
    if (event.gpu < 0) return builder_fail(b, section->line, "an [event] needs a gpu");
    struct event *bigger = arena_alloc(snap->arena, (snap->nevents + 1) * sizeof *bigger);
    if (snap->nevents) memcpy(bigger, snap->events, snap->nevents * sizeof *bigger);
    bigger[snap->nevents++] = event;
    snap->events = bigger;
    return true;
}
