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
static struct {
    int (*init)(unsigned);
    int (*version)(int *);
    int (*device)(int *, int);
    int (*name)(char *, int, int);
    int (*uuid)(unsigned char *, int);
    int (*attribute)(int *, int, int);
    int (*context)(void **, int);
    int (*use)(void *);
    int (*module)(void **, const void *);
    int (*function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    int (*wait)(void);
    int (*memory)(size_t *, size_t *);
    int (*allocate)(device_pointer *, size_t);
    int (*release)(device_pointer);
    int (*pin)(void **, size_t, unsigned);
    int (*inside)(device_pointer, device_pointer, size_t);
    int (*upload)(device_pointer, const void *, size_t);
} cuda;

static const struct {
    const char *name;
    void *address;
} functions[] = {
    {"cuInit", &cuda.init},
    {"cuDriverGetVersion", &cuda.version},
    {"cuDeviceGet", &cuda.device},
    {"cuDeviceGetName", &cuda.name},
    {"cuDeviceGetUuid", &cuda.uuid},
    {"cuDeviceGetAttribute", &cuda.attribute},
    {"cuDevicePrimaryCtxRetain", &cuda.context},
    {"cuCtxSetCurrent", &cuda.use},
    {"cuModuleLoadData", &cuda.module},
    {"cuModuleGetFunction", &cuda.function},
    {"cuLaunchKernel", &cuda.launch},
    {"cuCtxSynchronize", &cuda.wait},
    {"cuMemGetInfo_v2", &cuda.memory},
    {"cuMemAlloc_v2", &cuda.allocate},
    {"cuMemFree_v2", &cuda.release},
    {"cuMemHostAlloc", &cuda.pin},
    {"cuMemcpyDtoD_v2", &cuda.inside},
    {"cuMemcpyHtoD_v2", &cuda.upload},
};

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

static void check(int code, const char *what)
{
    if (code) {
        fprintf(stderr, "load: %s: CUDA error %d\n", what, code);
        exit(1);
    }
}

/* multiply runs the kernel once, and adjusts the rounds so that one run takes some 20 ms. It returns the seconds that it took. */
static double multiply(void)
{
    void *arguments[] = {&rounds, &result};
    double start = now(), took;

    check(cuda.launch(kernel, blocks, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
    check(cuda.wait(), "cuCtxSynchronize");
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
    check(cuda.allocate(&p, size), "cuMemAlloc");
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

    check(cuda.memory(&available, &total), "cuMemGetInfo");
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
        check(cuda.pin(&pinned, size, 0), "cuMemHostAlloc");

    begin = now();
    printf("{\"phase\":\"%s\",\"begin\":%.6f}\n", name, begin);
    fflush(stdout);
    if (!strcmp(name, "illegal access")) {
        device_pointer invalid = 16;
        unsigned once = 1;
        void *arguments[] = {&once, &invalid};
        check(cuda.launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
        code = cuda.wait(); /* 700, CUDA_ERROR_ILLEGAL_ADDRESS: the context is of no use any more */
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
            check(cuda.inside(to, from, size), "cuMemcpyDtoD");
            check(cuda.wait(), "cuCtxSynchronize");
            busy += now() - start, bytes += size;
        } else if (!strcmp(name, "host copy")) {
            check(cuda.upload(from, pinned, size), "cuMemcpyHtoD");
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
        check(cuda.release(from), "cuMemFree");
    if (to)
        check(cuda.release(to), "cuMemFree");
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
        memcpy(functions[i].address, &address, sizeof address);
    }
    check(cuda.init(0), "cuInit");
    check(cuda.version(&version), "cuDriverGetVersion");
    check(cuda.device(&device, 0), "cuDeviceGet");
    check(cuda.name(name, sizeof name, device), "cuDeviceGetName");
    check(cuda.uuid(uuid, device), "cuDeviceGetUuid");
    check(cuda.attribute(&processors, MULTIPROCESSORS, device), "cuDeviceGetAttribute");
    cuda.attribute(&clock, MEMORY_CLOCK_KHZ, device); /* it stays 0 if it is not known */
    cuda.attribute(&bits, MEMORY_BUS_BITS, device);
    check(cuda.context(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuda.use(context), "cuCtxSetCurrent");
    check(cuda.module(&module, ptx), "cuModuleLoadData");
    check(cuda.function(&kernel, module, "multiply"), "cuModuleGetFunction");
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
