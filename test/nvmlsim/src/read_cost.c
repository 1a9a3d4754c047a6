/* [cost]: how long a real driver takes for its calls. */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static bool nanoseconds(const char *text, uint64_t *out)
{
    double seconds;
    if (!parse_duration(text, &seconds)) return false;
    *out = (uint64_t)(seconds * 1e9 + 0.5);
    return true;
}

static bool set_wait(struct cost *cost, const char *value)
{
    static const char *const words[] = {[COST_COUNTED] = "none", [COST_SLEEP] = "sleep", [COST_BUSY] = "busy"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(value, words[i])) {
            cost->wait = (enum cost_wait)i;
            return true;
        }
    return false;
}

static bool set_cost(struct cost *cost, const struct entry *e)
{
    char *end;
    if (!strcmp(e->key, "wait")) return set_wait(cost, e->value);
    if (!strcmp(e->key, "fields")) return cost->field_factor = strtod(e->value, &end), end != e->value && !*end && cost->field_factor >= 0;
    if (!strncmp(e->key, "field.", 6)) {
        unsigned long id = strtoul(e->key + 6, &end, 10);
        return !*end && id < MAX_FIELD && nanoseconds(e->value, &cost->fields[id]);
    }
    bool found = false;
    for (int fn = 0; fn < FN_COUNT; fn++) {
        if (!function_matches(e->key, (enum function)fn)) continue;
        found = true;
        if (!nanoseconds(e->value, &cost->functions[fn])) return false;
    }
    return found;
}

bool read_cost(struct builder *b, const struct section *section)
{
    for (unsigned i = 0; i < section->count; i++)
        if (!set_cost(&b->snap->cost, &section->entries[i]))
            return builder_fail(b, section->entries[i].line, "bad key or value in [cost]: %s = %s", section->entries[i].key, section->entries[i].value);
    return true;
}
