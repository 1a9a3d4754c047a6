/* The line format of scenario and control files: [kind argument] sections of "key = value" lines. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return s;
}

/* A comment begins with # at the start of a line or after white space, so that a value may contain one. */
static void cut_comment(char *line)
{
    for (char *p = line; *p; p++)
        if (*p == '#' && (p == line || isspace((unsigned char)p[-1]))) {
            *p = '\0';
            return;
        }
}

static void *grown(void *array, unsigned count, size_t size)
{
    if (count & (count - 1)) return array; /* full at powers of two only */
    void *bigger = realloc(array, (count ? 2 * count : 1) * size);
    if (!bigger) abort();
    return bigger;
}

static struct section *add_section(struct text *text, char *kind, char *arg, int line)
{
    text->sections = grown(text->sections, text->count, sizeof *text->sections);
    text->sections[text->count] = (struct section){.kind = kind, .arg = arg, .line = line};
    return &text->sections[text->count++];
}

static char *opened_section(char *line)
{
    char *close = strchr(line, ']');
    if (!close || *trim(close + 1)) return NULL;
    *close = '\0';
    return trim(line + 1);
}

bool text_parse(const char *name, const char *content, struct text *out, char *err, size_t errlen)
{
    *out = (struct text){.name = strdup(name), .buffer = strdup(content)};
    if (!out->name || !out->buffer) abort();
    static char system[] = "system", none[] = "";
    struct section *section = add_section(out, system, none, 1); /* what stands before the first section */
    int number = 0;
    for (char *next = out->buffer; next;) {
        char *line = next;
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        number++;
        cut_comment(line);
        line = trim(line);
        if (!*line) continue;
        if (*line == '[') {
            char *kind = opened_section(line);
            if (!kind) {
                snprintf(err, errlen, "%s:%d: a section is written [kind argument]", name, number);
                return false;
            }
            char *arg = kind + strcspn(kind, " \t");
            if (*arg) *arg++ = '\0';
            section = add_section(out, kind, trim(arg), number);
            continue;
        }
        char *equals = strchr(line, '=');
        if (!equals) {
            snprintf(err, errlen, "%s:%d: expected \"key = value\"", name, number);
            return false;
        }
        *equals = '\0';
        section->entries = grown(section->entries, section->count, sizeof *section->entries);
        section->entries[section->count++] = (struct entry){.key = trim(line), .value = trim(equals + 1), .line = number};
    }
    return true;
}

void text_free(struct text *text)
{
    for (unsigned i = 0; i < text->count; i++)
        free(text->sections[i].entries);
    free(text->sections);
    free(text->buffer);
    free(text->name);
    *text = (struct text){0};
}

/* Identifies a fault or event, and its version: a hash of the whole content of its section. */
uint64_t section_key(const struct section *section)
{
    uint64_t h = 14695981039346656037u;
#define MIX(s)                                         \
    for (const char *p = (s); ; p++) {                 \
        h = (h ^ (unsigned char)*p) * 1099511628211u;  \
        if (!*p) break;                                \
    }
    MIX(section->arg)
    for (unsigned i = 0; i < section->count; i++) {
        MIX(section->entries[i].key)
        MIX(section->entries[i].value)
    }
#undef MIX
    return h;
}

/* ---- memory of a snapshot ------------------------------------------------------------------------------------- */

struct block {
    struct block *next;
    max_align_t data[];
};
struct arena {
    struct block *blocks;
};

struct arena *arena_new(void)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena) abort();
    return arena;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct block *block = calloc(1, sizeof *block + size);
    if (!block) abort();
    block->next = arena->blocks;
    arena->blocks = block;
    return block->data;
}

void arena_free(struct arena *arena)
{
    while (arena->blocks) {
        struct block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
}
