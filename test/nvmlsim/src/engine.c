/*
 * The life of the library: nvmlInit reads the scenario and starts a watcher. The watcher checks the control file every
 * 20 ms, swaps the state when it has changed, and sends events that are due. The last nvmlShutdown ends it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvmlsim.h"
#include "sim.h"

static const char default_scenario[] = "gpus = 8\n";

/* users: successful inits without a matching shutdown, and inits under way (one may hang, and needs the watcher). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static atomic_uint inits, life;
static atomic_ullong generation;

static struct snapshot *_Atomic current;
static struct snapshot *retired; /* waiting until no call can hold them; only the watcher and, without one, init and shutdown */

static pthread_mutex_t change_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t changed_once = PTHREAD_ONCE_INIT;

static pthread_t watcher;
static bool watched; /* there is a watcher */
static atomic_bool stop;
static struct text scenario;
static struct fault_state *states;

static double mono_start;
static unsigned long long epoch_us; /* of time 0 */

/* ---- time ------------------------------------------------------------------------------------------------------ */

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double engine_time(const struct snapshot *snap)
{
    return snap->manual ? snap->now : seconds_of(CLOCK_MONOTONIC) - mono_start;
}

unsigned long long engine_epoch_us(void)
{
    return epoch_us;
}

/* ---- what others ask ------------------------------------------------------------------------------------------- */

bool engine_ready(void)
{
    return atomic_load_explicit(&inits, memory_order_acquire) > 0;
}

const struct snapshot *engine_snapshot(void)
{
    return atomic_load(&current);
}

unsigned engine_life(void)
{
    return atomic_load(&life);
}

unsigned long long nvmlsimGeneration(void)
{
    return atomic_load(&generation);
}

static void make_changed(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attr);
}

/* Waits until the state is no longer `seen`, at most that many seconds. May return early. */
void engine_wait_change(const struct snapshot *seen, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&change_lock);
    if (atomic_load(&current) == seen) pthread_cond_timedwait(&changed, &change_lock, &until);
    pthread_mutex_unlock(&change_lock);
}

/* ---- the state ------------------------------------------------------------------------------------------------- */

static struct fault_state *state_for(const struct fault *fault, const struct snapshot *before)
{
    for (unsigned i = 0; before && i < before->nfaults; i++)
        if (before->faults[i].key == fault->key) return before->faults[i].state;
    struct fault_state *state = calloc(1, sizeof *state);
    if (!state) abort();
    state->key = fault->key;
    state->next = states; /* kept until the end of this life: a call may still use an old one */
    states = state;
    return state;
}

static struct snapshot *build(const struct snapshot *before)
{
    char err[512];
    struct text control;
    struct snapshot *snap = NULL;
    if (control_read(&control, err, sizeof err)) snap = snapshot_build(&scenario, &control, err, sizeof err);
    text_free(&control);
    set_error(snap ? "" : err);
    for (unsigned i = 0; snap && i < snap->nfaults; i++)
        snap->faults[i].state = state_for(&snap->faults[i], before);
    return snap;
}

static void free_retired(void)
{
    if (!retired || calls_reading()) return;
    while (retired) {
        struct snapshot *next = retired->next;
        snapshot_free(retired);
        retired = next;
    }
}

static void publish(struct snapshot *snap)
{
    struct snapshot *old = atomic_exchange(&current, snap);
    if (old) {
        old->next = retired;
        retired = old;
    }
    atomic_fetch_add(&generation, 1);
    pthread_mutex_lock(&change_lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&change_lock);
}

static void *watch(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        if (control_changed()) {
            struct snapshot *snap = build(atomic_load(&current));
            if (snap) {
                const struct snapshot *before = atomic_load(&current);
                snapshot_continue(snap, before, engine_time(before));
                events_forget(snap);
                publish(snap);
            }
            control_acknowledge();
        }
        const struct snapshot *snap = atomic_load(&current);
        events_tick(snap, engine_time(snap));
        free_retired();
        pthread_mutex_lock(&change_lock);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 20000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!atomic_load(&stop)) pthread_cond_timedwait(&changed, &change_lock, &until);
        pthread_mutex_unlock(&change_lock);
    }
    return NULL;
}

/* ---- beginning and end of a life ------------------------------------------------------------------------------- */

static nvmlReturn_t start(void)
{
    pthread_once(&changed_once, make_changed);
    free_retired();
    const char *path = getenv("NVMLSIM_SCENARIO");
    bool given = path && *path;
    char *content = given ? read_file(path) : strdup(default_scenario);
    char err[512];
    if (!content) {
        snprintf(err, sizeof err, "cannot read the scenario %s: %s", path, strerror(errno));
        set_error(err);
        return NVML_ERROR_UNKNOWN;
    }
    bool ok = text_parse(given ? path : "default scenario", content, &scenario, err, sizeof err);
    free(content);
    watched = control_open(given ? path : NULL);
    struct snapshot *snap = ok ? build(NULL) : NULL;
    if (!ok) set_error(err);
    if (!snap) {
        text_free(&scenario);
        return NVML_ERROR_UNKNOWN;
    }
    mono_start = seconds_of(CLOCK_MONOTONIC);
    if (snap->since_boot) epoch_us = 86400000000u;
    else epoch_us = snap->manual ? 1700000000000000u : (unsigned long long)(seconds_of(CLOCK_REALTIME) * 1e6);
    publish(snap);
    control_acknowledge();
    atomic_store(&stop, false);
    if (!watched || pthread_create(&watcher, NULL, watch, NULL) == 0) return NVML_SUCCESS;
    text_free(&scenario);
    return NVML_ERROR_UNKNOWN;
}

/* With `lock` held, by the last user. Calls still inside return UNINITIALIZED when they wake up. */
static void finish(void)
{
    atomic_store(&stop, true);
    atomic_fetch_add(&life, 1);
    pthread_mutex_lock(&change_lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&change_lock);
    if (watched) pthread_join(watcher, NULL);
    struct snapshot *last = atomic_exchange(&current, NULL);
    last->next = retired;
    retired = last;
    events_close();
    free_retired();
    text_free(&scenario);
    if (!retired) {
        while (states) {
            struct fault_state *next = states->next;
            free(states);
            states = next;
        }
    }
    stats_write();
}

static void leave(void)
{
    pthread_mutex_lock(&lock);
    if (--users == 0) finish();
    pthread_mutex_unlock(&lock);
}

nvmlReturn_t engine_init(struct call *c)
{
    pthread_mutex_lock(&lock);
    nvmlReturn_t ret = users == 0 ? start() : NVML_SUCCESS;
    if (ret == NVML_SUCCESS) users++;
    pthread_mutex_unlock(&lock);
    if (ret != NVML_SUCCESS) return ret;
    c->snap = engine_snapshot();
    if (c->snap->hot[c->fn]) ret = fault_check(c, -1, -1, false);
    if (ret == NVML_SUCCESS) {
        atomic_fetch_add(&inits, 1);
    } else {
        call_block(c); /* lets the snapshot go, which leave may free */
        leave();
        call_unblock(c);
    }
    return ret;
}

nvmlReturn_t engine_shutdown(struct call *c)
{
    nvmlReturn_t ret = NVML_ERROR_UNINITIALIZED;
    if (c->snap) ret = c->snap->hot[c->fn] ? fault_check(c, -1, -1, false) : NVML_SUCCESS;
    if (ret != NVML_SUCCESS) return ret;
    unsigned n = atomic_load(&inits);
    do
        if (n == 0) return NVML_ERROR_UNINITIALIZED;
    while (!atomic_compare_exchange_weak(&inits, &n, n - 1));
    call_block(c);
    leave();
    call_unblock(c);
    return NVML_SUCCESS;
}
