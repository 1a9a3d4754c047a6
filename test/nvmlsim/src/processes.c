/* The processes of a GPU and their memory. */
#include "sim.h"

bool process_alive(const struct process *p, double t)
{
    return t >= p->from && (p->until < 0 || t < p->until);
}

/* Of the whole GPU (mig < 0) or of one MIG device. */
double process_memory(const struct gpu *gpu, int mig, double t)
{
    if (mig < 0 && gpu->memory_constant) return gpu->process_memory;
    double sum = 0;
    for (unsigned i = 0; i < gpu->nprocesses; i++) {
        const struct process *p = &gpu->processes[i];
        /* A raw value is a sentinel such as "not available", not an amount. */
        if (p->memory.kind == S_RAW || p->memory.kind == S_ERROR || !process_alive(p, t)) continue;
        if (mig < 0 || p->mig == mig) sum += series_at(&p->memory, t);
    }
    return sum;
}
