/* The keys of a [gpu] section that are not numbers over time: the board and its modes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum attribute_kind { A_TEXT, A_INT, A_SPECIAL };

static const struct attribute {
    const char *key;
    enum attribute_kind kind;
    size_t offset, size;
} attributes[] = {
#define TEXT(key, field) {key, A_TEXT, offsetof(struct gpu, field), sizeof ((struct gpu *)0)->field}
#define INT(key, field) {key, A_INT, offsetof(struct gpu, field), 0}
    TEXT("name", name), TEXT("uuid", uuid), TEXT("serial", serial), TEXT("vbios", vbios),
    TEXT("inforom", inforom), TEXT("part", part), TEXT("gsp.version", gsp), TEXT("fabric.cluster", fabric_cluster),
    INT("architecture", architecture), INT("brand", brand), INT("minor", minor), INT("numa_node", numa_node),
    INT("module_id", module_id), INT("persistence", persistence), INT("accounting", accounting), INT("ecc", ecc),
    INT("ecc.pending", ecc_pending), INT("gsp.mode", gsp_mode), INT("virtualization", virtualization),
    INT("compute_mode", compute_mode), INT("addressing", addressing), INT("c2c", c2c), INT("display", display),
    INT("license", license), INT("mig", mig_mode), INT("mig.pending", mig_pending), INT("mig.max", mig_max), INT("fans", fans),
    INT("p2p.read", p2p[0]), INT("p2p.write", p2p[1]),
    INT("p2p.nvlink", p2p[2]), INT("p2p.atomics", p2p[3]), INT("p2p.pci", p2p[4]), INT("links", links), INT("link.version", link_version), INT("link.remote", link_remote), INT("gpm", gpm),
    INT("cores", cores), INT("bus_width", bus_width), INT("fabric.state", fabric_state),
    INT("fabric.status", fabric_status), INT("fabric.clique", fabric_clique), INT("fabric.health", fabric_health),
    INT("fabric.summary", fabric_summary), INT("fabric.version", fabric_version), INT("sample.count", sample_count), INT("sample.history", sample_history),
    INT("process.samples", process_samples), INT("process.slack", process_slack), INT("process.entry", process_entry),
#undef TEXT
#undef INT
};

void gpu_defaults(struct gpu *gpu, int slot)
{
    gpu->slot = slot;
    gpu->present = true;
    snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%08x-5eed-4a11-8c0d-%012x", 0x6f1c2a00u + (unsigned)slot, 0xc0ffee00u + (unsigned)slot);
    snprintf(gpu->serial, sizeof gpu->serial, "16524230%05d", 70011 + slot);
    gpu->bus = 0x0a + (unsigned)slot * 3;
    gpu->minor = slot;
    gpu->module_id = slot + 1;
    gpu->persistence = 1;
    gpu->numa_node = slot < 4 ? 0 : 1;
    gpu->ecc = 1;
    gpu->ecc_pending = INT32_MAX; /* as ecc is */
    gpu->mig_pending = INT32_MAX; /* as mig is */
    gpu->mig_max = 7;
    gpu->addressing = 0;
    gpu->c2c = UNSUPPORTED;
    gpu->links = 0;
    gpu->link_remote = NVML_NVLINK_DEVICE_TYPE_SWITCH;
    gpu->fabric_state = UNSUPPORTED;
    gpu->license = UNSUPPORTED;
    gpu->fabric_version = 3;
    gpu->sample_period = 1.0 / 6;
    gpu->sample_count = 100;
    gpu->sample_history = 1;
    gpu->process_samples = 1;
    gpu->events = nvmlEventTypeAll;
    gpu->bus_width = 5120;
}

/* "{i}" in a value is the GPU's number, so that GPUs of [gpu *] differ. */
static void substitute(const char *value, int slot, char *out, size_t size)
{
    size_t n = 0;
    while (*value && n + 4 < size) {
        if (!strncmp(value, "{i}", 3)) {
            n += (size_t)sprintf(out + n, "%d", slot);
            value += 3;
        } else {
            out[n++] = *value++;
        }
    }
    out[n] = '\0';
}

static bool set_int(const char *value, int *out)
{
    bool flag;
    char *end;
    if (!strcmp(value, "unsupported")) {
        *out = UNSUPPORTED;
        return true;
    }
    *out = (int)strtol(value, &end, 0);
    if (end != value && *end == '\0') return true;
    if (!bool_parse(value, &flag)) return false;
    *out = flag;
    return true;
}

static bool set_bus(struct gpu *gpu, const char *value)
{
    return sscanf(value, "%x:%x:%x", &gpu->domain, &gpu->bus, &gpu->device) == 3;
}

static bool set_links_down(struct gpu *gpu, const char *value)
{
    gpu->links_down = 0;
    for (const char *p = value; *p && strcmp(p, "none");) {
        char *end;
        unsigned long link = strtoul(p, &end, 10);
        if (end == p || link >= MAX_LINKS) return false;
        gpu->links_down |= UINT64_C(1) << link;
        p = end + strspn(end, ", ");
    }
    return true;
}

static bool set_board(struct builder *b, struct gpu *gpu, const struct entry *entry)
{
    const char *content = board_text(entry->value);
    if (!content) return builder_fail(b, entry->line, "no such board: %s", entry->value);
    struct text board;
    bool ok = text_parse(entry->value, content, &board, b->err, b->errlen);
    const struct text *outer = b->text;
    b->text = &board;
    for (unsigned i = 0; ok && i < board.sections[0].count; i++)
        ok = gpu_set(b, gpu, &board.sections[0].entries[i]);
    b->text = outer;
    text_free(&board);
    return ok;
}

/* field.230 = 2, or field.138.4 = 10 for one scope: any field, whether or not the simulator models it. */
static bool set_field(struct builder *b, struct gpu *gpu, const char *key, const char *value, char *why, size_t size)
{
    struct field_override *field = arena_alloc(b->snap->arena, sizeof *field);
    char *end;
    field->id = (unsigned)strtoul(key, &end, 10);
    field->scope = -1;
    if (*end == '.') field->scope = (int)strtol(end + 1, &end, 10);
    if (*end) return false;
    field->next = gpu->fields;
    gpu->fields = field; /* the newest first: it overrides */
    return series_parse(b->snap->arena, value, &field->value, why, size);
}

/* Keys that need a rule of their own; *known reports whether this is one. */
static bool set_special(struct gpu *gpu, const char *key, const char *value, bool *known)
{
    *known = true;
    char *end;
#define IS(name) !strcmp(key, name)
    if (IS("present")) return bool_parse(value, &gpu->present);
    if (IS("bus_id")) return set_bus(gpu, value);
    if (IS("device_id")) return gpu->pci_device = (unsigned)strtoul(value, &end, 0), *end == '\0';
    if (IS("subsystem_id")) return gpu->pci_subsystem = (unsigned)strtoul(value, &end, 0), *end == '\0';
    if (IS("compute_capability")) return sscanf(value, "%d.%d", &gpu->cc_major, &gpu->cc_minor) == 2;
    if (IS("links.down")) return set_links_down(gpu, value);
    if (IS("events")) return gpu->events = strtoull(value, &end, 0), *end == '\0';
    if (IS("sample.period")) return parse_duration(value, &gpu->sample_period) && gpu->sample_period > 0;
#undef IS
    *known = false;
    return true;
}

bool gpu_set(struct builder *b, struct gpu *gpu, const struct entry *entry)
{
    char value[4096], why[160] = "";
    substitute(entry->value, gpu->slot, value, sizeof value);
    if (!strcmp(entry->key, "board")) return set_board(b, gpu, entry);
    bool known, ok = set_special(gpu, entry->key, value, &known);
    for (size_t i = 0; !known && i < sizeof attributes / sizeof *attributes; i++) {
        const struct attribute *a = &attributes[i];
        if (strcmp(a->key, entry->key)) continue;
        known = true;
        char *field = (char *)gpu + a->offset;
        if (a->kind == A_INT) {
            int number = 0;
            ok = set_int(value, &number);
            memcpy(field, &number, sizeof number);
        } else {
            snprintf(field, a->size, "%s", strcmp(value, "unsupported") ? value : "");
        }
    }
    if (!known && !strncmp(entry->key, "field.", 6)) {
        known = true;
        ok = set_field(b, gpu, entry->key + 6, value, why, sizeof why);
    }
    if (!known) {
        struct entry own = {.key = entry->key, .value = value, .line = entry->line};
        if (!value_set(b, gpu->v, &own, &known)) return false;
    }
    if (!known) return builder_fail(b, entry->line, "no such key: %s", entry->key);
    if (!ok) return builder_fail(b, entry->line, "bad value for %s: %s%s%s", entry->key, value, *why ? ": " : "", why);
    return true;
}
