/* Applies faults to a call. Only functions that some fault names get here (snapshot.hot). */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "sim.h"

/* A sleep simulates a driver that waits for the GPU; a busy wait simulates one that polls a register. */
void pause_seconds(double seconds, bool busy)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)seconds;
    end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    if (!busy) {
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
        }
        return;
    }
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static bool concerns(const struct fault *f, enum function fn, int slot, int mig, bool lookup, double t)
{
    if (!(f->functions[fn / 64] >> (fn % 64) & 1)) return false;
    if (!f->any_gpu) {
        if (slot < 0 || !(f->gpus >> slot & 1)) return false;
        if (f->mig == -2 ? mig >= 0 : f->mig >= 0 && f->mig != mig) return false;
        if (lookup && f->whole_device && !f->at_start) return false; /* handles are returned nevertheless */
    }
    return t >= f->from && (f->until < 0 || t < f->until);
}

/* Counts this call against the fault's own limits. */
static bool due(const struct fault *f)
{
    if (f->skip == 0 && f->calls == 0) return true;
    unsigned long long n = atomic_fetch_add_explicit(&f->state->seen, 1, memory_order_relaxed);
    return n >= f->skip && (f->calls == 0 || n < f->skip + f->calls);
}

/*
 * Waits until the fault is gone from the files (a changed fault counts as gone) or its time is over. Returns false if
 * the library was shut down meanwhile: then there is no state left for an answer.
 */
static bool hang(struct call *c, const struct fault *f, int slot, int mig, bool lookup)
{
    uint64_t key = f->key;
    char name[sizeof f->name];
    memcpy(name, f->name, sizeof name);
    double left = f->hang_seconds > 0 ? f->hang_seconds : 1e9;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    const unsigned life = engine_life();
    for (bool there = true; there;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        double gone = (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9;
        if (gone >= left) return true;
        const struct snapshot *seen = c->snap;
        call_block(c);
        /* A fault with a time of its own ends without any change of the files. */
        engine_wait_change(seen, left - gone < 0.02 ? left - gone : 0.02);
        call_unblock(c);
        if (engine_life() != life || !c->snap) return false;
        there = false;
        for (unsigned i = 0; c->snap && i < c->snap->nfaults; i++) {
            const struct fault *other = &c->snap->faults[i];
            there |= other->key == key && !strcmp(other->name, name) &&
                     concerns(other, c->fn, slot, mig, lookup, engine_time(c->snap));
        }
    }
    return true;
}

nvmlReturn_t fault_check(struct call *c, int slot, int mig, bool lookup)
{
    const struct snapshot *snap = c->snap;
    double t = engine_time(snap);
    nvmlReturn_t result = NVML_SUCCESS;
    for (unsigned i = 0; i < snap->nfaults; i++) {
        const struct fault *f = &snap->faults[i];
        if (f->has_fields || !concerns(f, c->fn, slot, mig, lookup, t) || !due(f)) continue;
        if (result == NVML_SUCCESS) result = f->result;
        if (f->latency > 0) pause_seconds(f->latency, f->busy_wait);
        if (f->hang) {
            /* The state is different afterwards, so the other faults are no longer those of `snap`. */
            return hang(c, f, slot, mig, lookup) ? result : NVML_ERROR_UNINITIALIZED;
        }
    }
    return result;
}

nvmlReturn_t fault_field(struct call *c, unsigned field)
{
    const struct snapshot *snap = c->snap;
    if (!snap->hot[FN_nvmlDeviceGetFieldValues]) return NVML_SUCCESS;
    int mig = c->mig ? (int)(c->mig - c->gpu->mig) : -1;
    for (unsigned i = 0; i < snap->nfaults; i++) {
        const struct fault *f = &snap->faults[i];
        if (f->has_fields && field < 8 * 64 && f->fields[field / 64] >> (field % 64) & 1 &&
            concerns(f, FN_nvmlDeviceGetFieldValues, c->gpu->slot, mig, false, call_time(c)) && due(f))
            return f->result;
    }
    return NVML_SUCCESS;
}
