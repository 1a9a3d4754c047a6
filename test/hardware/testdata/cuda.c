/*
 * Copyright The gpureceiver Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A simulated libcuda.so.1 beside nvmlsim: what a program does with it becomes the control file of the simulated NVML ($NVMLSIM_CONTROL),
 * so the simulated GPU has the memory and the use of the program. Its GPU is number 0 of the scenario.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long device_pointer;

enum { BASE = 512 << 20 }; /* the memory of a context */

static struct {
    device_pointer at;
    size_t size;
} allocations[8];
static const char *work = "";
static int broken;

/* tell writes what the GPU does now, and waits until the simulated NVML has read it. */
static void tell(const char *now_working)
{
    const char *path = getenv("NVMLSIM_CONTROL");
    char name[4096], want[32], got[32] = "";
    size_t memory = BASE;
    static int number;
    FILE *f;

    work = now_working;
    for (int i = 0; i < 8; i++)
        memory += allocations[i].size;
    snprintf(name, sizeof name, "%s.new", path);
    snprintf(want, sizeof want, "load-%d\n", ++number);
    if (!(f = fopen(name, "w")))
        abort();
    fprintf(f, "ack = %s[process load]\ngpu = 0\npid = %d\nmemory = %zu\n[gpu 0]\n%s\n", want, (int)getpid(), memory, work);
    if (broken)
        fprintf(f, "[event illegal]\ngpu = 0\nxid = 31\n");
    fclose(f);
    rename(name, path);
    snprintf(name, sizeof name, "%s.ack", path);
    while (strcmp(got, want)) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        if ((f = fopen(name, "r"))) {
            if (!fgets(got, sizeof got, f))
                got[0] = 0;
            fclose(f);
        }
    }
}

static void at_work(const char *on)
{
    if (strcmp(work, on))
        tell(on);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGet(int *device, int index) { return *device = index, 0; }
int cuDeviceGetName(char *name, int size, int device) { return snprintf(name, size, "simulated %d", device), 0; }
int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    return memcpy(uuid, "\x58\0\0\0\0\0\x40\0\x80\0\0\0\0\0\0\1", 16), device;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 36 ? 3201000 : attribute == 37 ? 6144 : 132;
    return device;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = allocations, device; }
int cuCtxSetCurrent(void *context) { return context == allocations ? tell(""), 0 : 1; }
int cuModuleLoadData(void **module, const void *text) { return *module = allocations, strncmp(text, ".version", 8) != 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) { return *function = module, strcmp(name, "multiply") != 0; }

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **arguments, void **extra)
{
    device_pointer to = *(device_pointer *)arguments[1];
    (void)function, (void)x, (void)y, (void)z, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    if (to == 16) {
        broken = 1;
        tell(work);
    } else {
        at_work("util.gpu = 100\npower = 600");
    }
    return 0;
}

int cuCtxSynchronize(void) { return broken ? 700 : 0; }
int cuMemGetInfo_v2(size_t *available, size_t *total) { return tell(""), *available = 8ul << 30, *total = 16ul << 30, 0; }

int cuMemAlloc_v2(device_pointer *p, size_t size)
{
    for (int i = 0; i < 8; i++)
        if (!allocations[i].size) {
            *p = allocations[i].at = 4096 + i, allocations[i].size = size;
            return tell(""), 0;
        }
    return 2;
}

int cuMemFree_v2(device_pointer p)
{
    for (int i = 0; i < 8; i++)
        if (allocations[i].at == p)
            allocations[i].size = 0;
    return tell(""), 0;
}

int cuMemHostAlloc(void **p, size_t size, unsigned flags) { return *p = malloc(size), *p ? (int)flags : 2; }
int cuMemcpyDtoD_v2(device_pointer to, device_pointer from, size_t size)
{
    (void)to, (void)from, (void)size;
    return at_work("util.gpu = 100\nutil.memory = 90\ngpm.dram = 88"), 0;
}
int cuMemcpyHtoD_v2(device_pointer to, const void *from, size_t size)
{
    (void)to, (void)from, (void)size;
    return at_work("util.gpu = 100\npcie.rx = 20e9"), 0;
}
