/*
 * Copyright The gpureceiver Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Puts load on the first GPU of CUDA, through libcuda and PTX: neither a CUDA toolkit nor a header of CUDA is needed. It changes no setting.
 * A line on the standard input is the name of a phase, and the next line ends the phase. A line of JSON says when the phase has begun, and
 * another one what it did.
 * The end of the input ends the program. GPU_CUDA_LIBRARY names another libcuda.so.1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long device_pointer;

/* The functions of libcuda, as its header declares them. A CUresult, CUdevice or CUdevice_attribute is an int, and a handle is a pointer. */
#define FUNCTIONS(F) \
    F(cuInit, unsigned) \
    F(cuDriverGetVersion, int *) \
    F(cuDeviceGet, int *, int) \
    F(cuDeviceGetName, char *, int, int) \
    F(cuDeviceGetUuid, unsigned char *, int) \
    F(cuDeviceGetAttribute, int *, int, int) \
    F(cuDevicePrimaryCtxRetain, void **, int) \
    F(cuCtxSetCurrent, void *) \
    F(cuModuleLoadData, void **, const void *) \
    F(cuModuleGetFunction, void **, void *, const char *) \
    F(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) \
    F(cuCtxSynchronize, void) \
    F(cuMemGetInfo_v2, size_t *, size_t *) \
    F(cuMemAlloc_v2, device_pointer *, size_t) \
    F(cuMemFree_v2, device_pointer) \
    F(cuMemHostAlloc, void **, size_t, unsigned) \
    F(cuMemcpyDtoD_v2, device_pointer, device_pointer, size_t) \
    F(cuMemcpyHtoD_v2, device_pointer, const void *, size_t)
#define POINTER(name, ...) static int (*name)(__VA_ARGS__);
#define NAMED(name, ...) {#name, &name},
FUNCTIONS(POINTER)
static const struct {
    const char *name;
    void *pointer;
} functions[] = {FUNCTIONS(NAMED)};

enum { MULTIPROCESSORS = 16, MEMORY_CLOCK_KHZ = 36, MEMORY_BUS_BITS = 37 }; /* CUdevice_attribute */

/* Turns two vectors n times in each thread, so the numbers stay bounded. The result is stored, so the driver's compiler keeps the loop. */
static const char ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry multiply(.param .u32 n, .param .u64 result)\n{\n"
    ".reg .pred %more;\n.reg .u32 %left;\n.reg .u64 %to;\n.reg .f32 %a, %b, %c, %d, %x, %y;\n"
    "ld.param.u32 %left, [n];\nld.param.u64 %to, [result];\n"
    "mov.f32 %a, 0f3F800000;\nmov.f32 %b, 0f00000000;\nmov.f32 %c, 0f3F000000;\nmov.f32 %d, 0f00000000;\n"
    "mov.f32 %x, 0f3C23D70A;\nneg.f32 %y, %x;\n"
    "again:\n"
    "fma.rn.f32 %a, %b, %x, %a;\nfma.rn.f32 %c, %d, %x, %c;\nfma.rn.f32 %b, %a, %y, %b;\nfma.rn.f32 %d, %c, %y, %d;\n"
    "sub.u32 %left, %left, 1;\nsetp.ne.u32 %more, %left, 0;\n@%more bra again;\n"
    "add.f32 %a, %b, %d;\nst.global.f32 [%to], %a;\nret;\n}\n";

static void *kernel;
static unsigned blocks, rounds = 1 << 14;
static device_pointer result;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void check(int code, const char *call)
{
    if (code) {
        fprintf(stderr, "load: %s: CUDA error %d\n", call, code);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

/* multiply runs the kernel once, and adjusts the rounds so that one run takes some 20 ms. It returns the seconds that it took. */
static double multiply(void)
{
    void *arguments[] = {&rounds, &result};
    double start = now(), took;

    CHECK(cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
    took = now() - start;
    if (took < 0.01 && rounds < 1u << 28)
        rounds *= 2;
    else if (took > 0.04 && rounds > 1)
        rounds /= 2;
    return took;
}

/* next reports whether the next line is there. */
static int next(int milliseconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, milliseconds) != 0;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static device_pointer allocate(size_t size)
{
    device_pointer p;
    CHECK(cuMemAlloc_v2(&p, size));
    return p;
}

/* phase runs a phase and says what it did. */
static void phase(const char *name)
{
    size_t available = 0, total, size = 0;
    device_pointer from = 0, to = 0;
    double begin, busy = 0, bytes = 0;
    static void *pinned;
    int code = 0;

    CHECK(cuMemGetInfo_v2(&available, &total));
    if (!strcmp(name, "device copy"))
        size = smaller(1ul << 30, available / 8);
    else if (!strcmp(name, "host copy"))
        size = smaller(256ul << 20, available / 8);
    else if (!strcmp(name, "allocation"))
        size = smaller(4ul << 30, available / 4) >> 21 << 21; /* whole pages of 2 MiB */
    if (size)
        from = allocate(size);
    if (!strcmp(name, "device copy"))
        to = allocate(size);
    if (!strcmp(name, "host copy") && !pinned)
        CHECK(cuMemHostAlloc(&pinned, size, 0));

    begin = now();
    printf("{\"phase\":\"%s\",\"begin\":%.6f}\n", name, begin);
    fflush(stdout);
    if (!strcmp(name, "illegal access")) {
        device_pointer invalid = 16;
        unsigned once = 1;
        void *arguments[] = {&once, &invalid};
        CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
        code = cuCtxSynchronize(); /* 700, CUDA_ERROR_ILLEGAL_ADDRESS: the context is of no use any more */
    }
    while (!next(0)) {
        double start = now();
        if (!strcmp(name, "arithmetic")) {
            busy += multiply();
        } else if (!strcmp(name, "half duty")) {
            double until = start + 0.35;
            while (now() < until && !next(0))
                busy += multiply();
            next(350);
        } else if (to) {
            CHECK(cuMemcpyDtoD_v2(to, from, size));
            CHECK(cuCtxSynchronize());
            busy += now() - start, bytes += size;
        } else if (!strcmp(name, "host copy")) {
            CHECK(cuMemcpyHtoD_v2(from, pinned, size));
            busy += now() - start, bytes += size;
        } else {
            next(-1);
        }
    }
    printf("{\"phase\":\"%s\",\"begin\":%.6f,\"end\":%.6f,\"busy\":%.6f,\"bytes\":%.0f,\"allocated\":%zu,\"code\":%d}\n", name, begin, now(), busy,
           bytes, strcmp(name, "allocation") ? 0 : size, code);
    fflush(stdout);
    if (code)
        exit(0);
    if (from)
        CHECK(cuMemFree_v2(from));
    if (to)
        CHECK(cuMemFree_v2(to));
}

int main(void)
{
    const char *path = getenv("GPU_CUDA_LIBRARY");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW), *context, *module;
    int device, version, processors, clock = 0, bits = 0;
    unsigned char uuid[16];
    char name[128], line[64];

    if (!library) {
        fprintf(stderr, "load: %s\n", dlerror());
        return 1;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address) {
            fprintf(stderr, "load: this libcuda has no %s\n", functions[i].name);
            return 1;
        }
        memcpy(functions[i].pointer, &address, sizeof address);
    }
    CHECK(cuInit(0));
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDeviceGetUuid(uuid, device));
    CHECK(cuDeviceGetAttribute(&processors, MULTIPROCESSORS, device));
    cuDeviceGetAttribute(&clock, MEMORY_CLOCK_KHZ, device); /* it stays 0 if it is not known */
    cuDeviceGetAttribute(&bits, MEMORY_BUS_BITS, device);
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&kernel, module, "multiply"));
    result = allocate(4);
    blocks = processors * 8;
    multiply();

    printf("{\"name\":\"%s\",\"cuda\":%d,\"pid\":%d,\"memory_rate\":%.0f,\"uuid\":\"", name, version, (int)getpid(), 2e3 * clock * bits / 8);
    for (int i = 0; i < 16; i++)
        printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    printf("\"}\n");
    fflush(stdout);
    setvbuf(stdin, NULL, _IONBF, 0); /* poll must see what fgets has not returned */
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        phase(line);
        if (!fgets(line, sizeof line, stdin))
            break;
    }
    return 0;
}
