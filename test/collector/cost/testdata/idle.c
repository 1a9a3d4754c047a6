/*
 * Copyright The gpureceiver Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that initialises the simulated NVML and does nothing more: what it uses is the simulator's own.
 *
 *   idle LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*init)(void);
    if (library) *(void **)&init = dlsym(library, "nvmlInit_v2");
    if (!library || !init || init() != 0) {
        fprintf(stderr, "usage: idle LIBRARY\n");
        return 1;
    }
    for (;;) pause();
}
