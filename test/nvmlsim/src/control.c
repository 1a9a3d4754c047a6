/* The control file: detects its changes, reads it, acknowledges it to its writer, and reports its errors. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nvmlsim.h"
#include "sim.h"

static char control_path[4096];
static struct stat control_stat, control_pending;
static char ack[64];

static pthread_mutex_t error_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_error[512];

void set_error(const char *text)
{
    pthread_mutex_lock(&error_lock);
    if (*text && strcmp(text, last_error)) fprintf(stderr, "nvmlsim: %s\n", text);
    snprintf(last_error, sizeof last_error, "%s", text);
    pthread_mutex_unlock(&error_lock);
}

const char *nvmlsimLastError(void)
{
    static char copy[sizeof last_error];
    pthread_mutex_lock(&error_lock);
    memcpy(copy, last_error, sizeof copy);
    pthread_mutex_unlock(&error_lock);
    return copy;
}

char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    size_t size = 0, room = 4096;
    char *content = malloc(room);
    for (size_t n; content && (n = fread(content + size, 1, room - size - 1, file)) > 0;) {
        size += n;
        if (room - size < 2) content = realloc(content, room *= 2);
    }
    fclose(file);
    if (!content) abort();
    content[size] = '\0';
    return content;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/*
 * Returns true once for every change. A file that is rewritten in place is read only once a check finds it unchanged
 * since the last one.
 */
bool control_changed(void)
{
    struct stat now = {0};
    if (stat(control_path, &now) != 0) memset(&now, 0, sizeof now);
    if (same_file(&now, &control_stat)) return false;
    bool replaced = now.st_ino != control_stat.st_ino;
    if (!replaced && !same_file(&now, &control_pending)) {
        control_pending = now;
        return false;
    }
    control_stat = now;
    return true;
}

/*
 * With the scenario's path, or NULL for the default one. Returns false for NVMLSIM_CONTROL=none: there is no control
 * file to check.
 */
bool control_open(const char *scenario_path)
{
    const char *path = getenv("NVMLSIM_CONTROL");
    if (path && !strcmp(path, "none")) {
        *control_path = '\0';
        return false;
    }
    if (path && *path) snprintf(control_path, sizeof control_path, "%s", path);
    else snprintf(control_path, sizeof control_path, "%s%s", scenario_path ? scenario_path : "", scenario_path ? ".control" : "");
    memset(&control_stat, 0, sizeof control_stat);
    memset(&control_pending, 0, sizeof control_pending);
    control_changed(); /* the current content is read now */
    return true;
}

/* "ack = x" stands before the first section, so it is known even if a later line is invalid. */
static void find_ack(const struct text *control)
{
    *ack = '\0';
    for (unsigned i = 0; control->count && i < control->sections[0].count; i++)
        if (!strcmp(control->sections[0].entries[i].key, "ack"))
            snprintf(ack, sizeof ack, "%s", control->sections[0].entries[i].value);
}

/* A missing control file is an empty one. */
bool control_read(struct text *out, char *err, size_t errlen)
{
    char *content = read_file(control_path);
    bool ok = text_parse(control_path, content ? content : "", out, err, errlen);
    free(content);
    find_ack(out);
    return ok;
}

/*
 * Informs the writer of "ack = x" in the control file that it is in force: <control>.ack then contains x, and on a
 * second line the errors in the file, if any.
 */
void control_acknowledge(void)
{
    if (!*ack) return;
    char path[sizeof control_path + 16], temporary[sizeof control_path + 16];
    snprintf(path, sizeof path, "%s.ack", control_path);
    snprintf(temporary, sizeof temporary, "%s.ack.new", control_path);
    stats_write();
    FILE *file = fopen(temporary, "w");
    if (!file) return;
    fprintf(file, "%s\n%s", ack, last_error);
    if (fclose(file) == 0) rename(temporary, path);
}
