/* Event sets: listeners, due events, and the wait. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

#define QUEUE 256

struct queued {
    int slot;
    unsigned long long type, data;
    unsigned gi, ci;
};

struct nvmlEventSet_st {
    struct nvmlEventSet_st *next;
    unsigned long long wanted[MAX_GPUS];
    struct queued queue[QUEUE];
    unsigned first, count, waiting;
    bool closed;
    pthread_cond_t arrived;
};

/* One lock for all sets: events are rare. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlEventSet_st *sets;

/* Events that were sent already, so that a new state does not repeat them. */
static struct sent {
    uint64_t key;
    char name[64];
    double last;
    struct sent *next;
} *sent;

static struct sent *sent_of(const struct event *e)
{
    for (struct sent *s = sent; s; s = s->next)
        if (s->key == e->key && !strcmp(s->name, e->name)) return s;
    return NULL;
}

/* Returns true if some set wants it. */
static bool deliver(const struct snapshot *snap, const struct event *e)
{
    bool heard = false;
    struct queued q = {.slot = e->gpu, .type = e->type, .data = e->data, .gi = ~0u, .ci = ~0u};
    if (e->mig >= 0) {
        q.gi = snap->gpus[e->gpu].mig[e->mig].gi;
        q.ci = snap->gpus[e->gpu].mig[e->mig].ci;
    }
    for (struct nvmlEventSet_st *set = sets; set; set = set->next) {
        if (!(set->wanted[e->gpu] & e->type)) continue;
        heard = true;
        if (set->count == QUEUE) continue; /* dropped, as the driver does when nobody reads */
        set->queue[(set->first + set->count++) % QUEUE] = q;
        pthread_cond_signal(&set->arrived);
    }
    return heard;
}

void events_tick(const struct snapshot *snap, double t)
{
    if (!snap->nevents) return;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < snap->nevents; i++) {
        const struct event *e = &snap->events[i];
        struct sent *s = sent_of(e);
        double due = s ? (e->repeat > 0 ? s->last + e->repeat : INFINITY) : e->at;
        if (t < due) continue;
        bool heard = deliver(snap, e);
        if (!heard && e->at < 0 && !s) continue; /* without a time of its own it waits for the first listener */
        if (!s) {
            s = calloc(1, sizeof *s);
            if (!s) abort();
            s->key = e->key;
            memcpy(s->name, e->name, sizeof s->name);
            s->next = sent;
            sent = s;
        }
        s->last = due >= 0 ? due : t;
    }
    pthread_mutex_unlock(&lock);
}

/* An event that was removed from the files may be sent again if it is added again. */
void events_forget(const struct snapshot *snap)
{
    pthread_mutex_lock(&lock);
    for (struct sent **link = &sent; *link;) {
        bool there = false;
        for (unsigned i = 0; snap && i < snap->nevents; i++)
            there |= snap->events[i].key == (*link)->key && !strcmp(snap->events[i].name, (*link)->name);
        struct sent *s = *link;
        if (there) {
            link = &s->next;
        } else {
            *link = s->next;
            free(s);
        }
    }
    pthread_mutex_unlock(&lock);
}

static void free_set(struct nvmlEventSet_st *set)
{
    pthread_cond_destroy(&set->arrived);
    free(set);
}

/* Removes it from the list. The last thread that still waits in it frees it. */
static void close_set(struct nvmlEventSet_st **link)
{
    struct nvmlEventSet_st *set = *link;
    *link = set->next;
    set->closed = true;
    pthread_cond_broadcast(&set->arrived);
    if (!set->waiting) free_set(set);
}

void events_close(void)
{
    pthread_mutex_lock(&lock);
    while (sets)
        close_set(&sets);
    pthread_mutex_unlock(&lock);
    events_forget(NULL);
}

static struct nvmlEventSet_st **find_set(nvmlEventSet_t set)
{
    struct nvmlEventSet_st **link = &sets;
    while (*link && *link != set.handle)
        link = &(*link)->next;
    return *link ? link : NULL;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    BEGIN(nvmlEventSetCreate);
    REQUIRE(set);
    struct nvmlEventSet_st *new = calloc(1, sizeof *new);
    if (!new) END(NVML_ERROR_MEMORY);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&new->arrived, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&lock);
    new->next = sets;
    sets = new;
    pthread_mutex_unlock(&lock);
    set->handle = new;
    END(NVML_SUCCESS);
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    BEGIN(nvmlEventSetFree);
    pthread_mutex_lock(&lock);
    struct nvmlEventSet_st **link = find_set(set);
    if (link) close_set(link);
    pthread_mutex_unlock(&lock);
    END(link ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes, nvmlEventSet_t set)
{
    BEGIN_DEVICE(nvmlDeviceRegisterEvents, device);
    if (!call.gpu->events) END(NVML_ERROR_NOT_SUPPORTED);
    if (eventTypes & ~call.gpu->events) END(NVML_ERROR_NOT_SUPPORTED);
    pthread_mutex_lock(&lock);
    struct nvmlEventSet_st **link = find_set(set);
    if (link) (*link)->wanted[call.gpu->slot] |= eventTypes;
    pthread_mutex_unlock(&lock);
    END(link ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *eventTypes)
{
    BEGIN_DEVICE(nvmlDeviceGetSupportedEventTypes, device);
    REQUIRE(eventTypes);
    *eventTypes = call.gpu->events;
    END(NVML_SUCCESS);
}

static nvmlReturn_t wait_set(nvmlEventSet_t handle, struct queued *out, unsigned int timeoutms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeoutms / 1000;
    until.tv_nsec += (long)(timeoutms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&lock);
    struct nvmlEventSet_st **link = find_set(handle);
    struct nvmlEventSet_st *set = link ? *link : NULL;
    nvmlReturn_t ret = set ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
    int timed = timeoutms ? 0 : ETIMEDOUT; /* with timeout 0 the kernel would still make the thread sleep briefly */
    while (set && !set->count && !set->closed && timed != ETIMEDOUT) {
        set->waiting++;
        timed = pthread_cond_timedwait(&set->arrived, &lock, &until);
        set->waiting--;
    }
    if (set && set->closed) {
        ret = NVML_ERROR_UNINITIALIZED;
        if (!set->waiting) free_set(set);
    } else if (set && set->count) {
        *out = set->queue[set->first];
        set->first = (set->first + 1) % QUEUE;
        set->count--;
    } else if (set) {
        ret = NVML_ERROR_TIMEOUT;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

static nvmlReturn_t wait_call(struct call *call, nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms, bool instances)
{
    struct queued q;
    call_block(call); /* may last for hours: the snapshot must not stay alive for it */
    nvmlReturn_t ret = wait_set(set, &q, timeoutms);
    call_unblock(call);
    call->quiet = ret == NVML_ERROR_TIMEOUT;
    if (ret != NVML_SUCCESS) return ret;
    data->device = handle_of(q.slot, -1);
    data->eventType = q.type;
    data->eventData = q.data;
    if (instances) { /* a caller of the old function has a smaller structure */
        data->gpuInstanceId = q.gi;
        data->computeInstanceId = q.ci;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    BEGIN(nvmlEventSetWait);
    REQUIRE(data);
    END(wait_call(&call, set, data, timeoutms, false));
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    BEGIN(nvmlEventSetWait_v2);
    REQUIRE(data);
    END(wait_call(&call, set, data, timeoutms, true));
}
