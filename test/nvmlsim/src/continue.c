/*
 * Keeps counters continuous when the control file changes a rate. For example, energy is the integral of power since
 * time 0. If the power changed for the whole time, that integral would jump, and often fall, which no real counter
 * does.
 */
#include <string.h>

#include "sim.h"

static bool equal(const struct series *a, const struct series *b)
{
    for (; a && b; a = a->plus, b = b->plus) {
        if (a->kind != b->kind || a->raw != b->raw || a->a != b->a || a->b != b->b || a->c != b->c || a->d != b->d ||
            a->e != b->e || a->nsteps != b->nsteps)
            return false;
        if (a->nsteps && memcmp(a->steps, b->steps, 2 * a->nsteps * sizeof *a->steps)) return false;
    }
    return a == b; /* both at their end */
}

static void carry(struct series *now, const struct series *before, double t)
{
    if (now->kind == S_ERROR || now->kind == S_AUTO || before->kind == S_ERROR || before->kind == S_AUTO) return;
    /* The rate is unchanged: no difference of large numbers, which might lose the last digit. */
    if (equal(now, before)) now->carried = before->carried;
    else now->carried = series_integral(before, t) + before->carried - series_integral(now, t);
}

/* From time t on `snap` applies, before that `before` did. */
void snapshot_continue(struct snapshot *snap, const struct snapshot *before, double t)
{
    for (unsigned i = 0; i < snap->ngpus && i < before->ngpus; i++) {
        struct gpu *gpu = &snap->gpus[i];
        for (int id = 0; id < V_COUNT; id++)
            carry(&gpu->v[id], &before->gpus[i].v[id], t);
        for (int m = 0; m < MAX_MIGS; m++) {
            if (!gpu->mig[m].present || strcmp(gpu->mig[m].uuid, before->gpus[i].mig[m].uuid)) continue;
            for (int id = 0; id < V_COUNT; id++)
                carry(&gpu->mig[m].v[id], &before->gpus[i].mig[m].v[id], t);
        }
    }
}
