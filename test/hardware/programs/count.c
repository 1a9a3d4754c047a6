/*
 * Copyright The gpureceiver Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An audit library of the dynamic linker (rtld-audit(7)): LD_AUDIT=count.so. It forwards each call of a program into libnvidia-ml, and counts
 * the calls and their time by function. The program loads the driver's own library as it always does, so a function that this driver
 * lacks is still missing. The counts are in the file that GPU_HARDWARE_CALLS names, with the process ID appended: other processes inherit
 * the variables. The file is mapped, because a Go program ends without running destructors.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 256
#define CODES 32 /* nvmlReturn_t; the last one stands for all larger codes */

struct function { /* calls.go reads it */
    char name[64];
    unsigned long long calls, nanoseconds, longest, codes[CODES];
};

typedef unsigned long word;
/* No function of NVML that the collector calls has more than six arguments, and all of them are integers or pointers. */
typedef word (*target)(word, word, word, word, word, word);

static struct function *functions; /* NULL: nothing is counted */
static target targets[SLOTS];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline word forward(int slot, word a, word b, word c, word d, word e, word f)
{
    struct function *counted = &functions[slot];
    unsigned long long start = now();
    word result = targets[slot](a, b, c, d, e, f);
    unsigned long long took = now() - start;
    unsigned long long longest = __atomic_load_n(&counted->longest, __ATOMIC_RELAXED);

    while (took > longest && !__atomic_compare_exchange_n(&counted->longest, &longest, took, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    unsigned code = (unsigned)result < CODES ? (unsigned)result : CODES - 1;
    __atomic_fetch_add(&counted->codes[code], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counted->nanoseconds, took, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counted->calls, 1, __ATOMIC_RELAXED);
    return result;
}

#define EACH4(X, n) X(n##0) X(n##1) X(n##2) X(n##3)
#define EACH16(X, n) EACH4(X, n##0) EACH4(X, n##1) EACH4(X, n##2) EACH4(X, n##3)
#define EACH64(X, n) EACH16(X, n##0) EACH16(X, n##1) EACH16(X, n##2) EACH16(X, n##3)
#define EACH256(X) EACH64(X, 0) EACH64(X, 1) EACH64(X, 2) EACH64(X, 3)
/* The digits of a slot's name are of base 4. */
#define SLOT(n) (((n) / 1000) * 64 + ((n) / 100 % 10) * 16 + ((n) / 10 % 10) * 4 + (n) % 10)
#define DEFINE(n) \
    static word forward_##n(word a, word b, word c, word d, word e, word f) { return forward(SLOT(1##n - 10000), a, b, c, d, e, f); }
#define NAME(n) forward_##n,

EACH256(DEFINE)
static const target forwarders[SLOTS] = {EACH256(NAME)};

/* la_version is the first call of the dynamic linker. */
unsigned int la_version(unsigned int version)
{
    const char *file = getenv("GPU_HARDWARE_CALLS");
    char path[4096];
    int n = file ? snprintf(path, sizeof path, "%s.%d", file, (int)getpid()) : 0;

    if (n > 0 && n < (int)sizeof path) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        size_t size = SLOTS * sizeof *functions;
        if (fd >= 0 && ftruncate(fd, size) == 0) {
            void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (mapped != MAP_FAILED)
                functions = mapped;
        }
        if (fd >= 0)
            close(fd);
    }
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* la_objopen asks for the symbols that other objects bind to libnvidia-ml. */
unsigned int la_objopen(struct link_map *object, Lmid_t list, uintptr_t *cookie)
{
    const char *file = strrchr(object->l_name, '/');

    (void)list;
    *cookie = strncmp(file ? file + 1 : object->l_name, "libnvidia-ml.", 13) == 0;
    return *cookie ? LA_FLG_BINDTO : LA_FLG_BINDFROM;
}

/* la_symbind64 replaces the address of a function by the address of a forwarder. */
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to, unsigned int *flags, const char *name)
{
    uintptr_t address = symbol->st_value;
    int slot;

    (void)index, (void)from;
    *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
    if (!*to || !functions || strncmp(name, "nvml", 4) || !strcmp(name, "nvmlErrorString") || strlen(name) >= sizeof functions->name)
        return address;
    pthread_mutex_lock(&lock);
    for (slot = 0; slot < used && ((uintptr_t)targets[slot] != address || strcmp(functions[slot].name, name)); slot++) {
    }
    if (slot == used && used < SLOTS) {
        strcpy(functions[slot].name, name);
        targets[slot] = (target)address;
        used++;
    }
    pthread_mutex_unlock(&lock);
    return slot < SLOTS ? (uintptr_t)forwarders[slot] : address;
}
