/*
 * What a sweep over all GPUs costs without Go: the calls that a scrape makes, straight through the library's C interface.
 *
 *   sweep LIBRARY [SWEEPS]
 *
 * The table below is the sweep. Keep it as the receiver's scraper is.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nvml.h>

#define MAX_PROCESSES 256

static void *library;

/* A pointer to the function of that name, of the type that the header declares. */
#define SYMBOL(name) static __typeof__(&name) p_##name;
#define SYMBOLS(X)                                                                                                     \
    X(nvmlInit_v2) X(nvmlShutdown) X(nvmlDeviceGetCount_v2) X(nvmlDeviceGetHandleByIndex_v2) X(nvmlDeviceGetUtilizationRates) \
    X(nvmlDeviceGetEncoderUtilization) X(nvmlDeviceGetDecoderUtilization) X(nvmlDeviceGetMemoryInfo_v2)                \
    X(nvmlDeviceGetTemperature) X(nvmlDeviceGetPowerUsage) X(nvmlDeviceGetEnforcedPowerLimit)                          \
    X(nvmlDeviceGetTotalEnergyConsumption) X(nvmlDeviceGetClockInfo) X(nvmlDeviceGetPerformanceState)                  \
    X(nvmlDeviceGetFanSpeed_v2) X(nvmlDeviceGetCurrPcieLinkGeneration) X(nvmlDeviceGetCurrPcieLinkWidth)               \
    X(nvmlDeviceGetCurrentClocksEventReasons) X(nvmlDeviceGetComputeRunningProcesses_v3)                               \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3) X(nvmlDeviceGetProcessUtilization) X(nvmlDeviceGetFieldValues)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SYMBOLS(SYMBOL)

static unsigned long long last_seen[64];
static unsigned current; /* the GPU's index */

static void utilization(nvmlDevice_t d) { nvmlUtilization_t u; p_nvmlDeviceGetUtilizationRates(d, &u); }
static void encoder(nvmlDevice_t d) { unsigned u, period; p_nvmlDeviceGetEncoderUtilization(d, &u, &period); }
static void decoder(nvmlDevice_t d) { unsigned u, period; p_nvmlDeviceGetDecoderUtilization(d, &u, &period); }
static void memory(nvmlDevice_t d) { nvmlMemory_v2_t m = {.version = nvmlMemory_v2}; p_nvmlDeviceGetMemoryInfo_v2(d, &m); }
static void temperature(nvmlDevice_t d) { unsigned t; p_nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &t); }
static void power(nvmlDevice_t d) { unsigned w; p_nvmlDeviceGetPowerUsage(d, &w); }
static void limit(nvmlDevice_t d) { unsigned w; p_nvmlDeviceGetEnforcedPowerLimit(d, &w); }
static void energy(nvmlDevice_t d) { unsigned long long e; p_nvmlDeviceGetTotalEnergyConsumption(d, &e); }
static void graphics_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_GRAPHICS, &c); }
static void sm_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_SM, &c); }
static void memory_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_MEM, &c); }
static void video_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_VIDEO, &c); }
static void pstate(nvmlDevice_t d) { nvmlPstates_t p; p_nvmlDeviceGetPerformanceState(d, &p); }
static void fan(nvmlDevice_t d) { unsigned s; p_nvmlDeviceGetFanSpeed_v2(d, 0, &s); }
static void generation(nvmlDevice_t d) { unsigned g; p_nvmlDeviceGetCurrPcieLinkGeneration(d, &g); }
static void width(nvmlDevice_t d) { unsigned w; p_nvmlDeviceGetCurrPcieLinkWidth(d, &w); }
static void reasons(nvmlDevice_t d) { unsigned long long r; p_nvmlDeviceGetCurrentClocksEventReasons(d, &r); }

static void compute(nvmlDevice_t d)
{
    nvmlProcessInfo_t infos[MAX_PROCESSES];
    unsigned n = MAX_PROCESSES;
    p_nvmlDeviceGetComputeRunningProcesses_v3(d, &n, infos);
}

static void graphics(nvmlDevice_t d)
{
    nvmlProcessInfo_t infos[MAX_PROCESSES];
    unsigned n = MAX_PROCESSES;
    p_nvmlDeviceGetGraphicsRunningProcesses_v3(d, &n, infos);
}

static void processes(nvmlDevice_t d)
{
    nvmlProcessUtilizationSample_t samples[MAX_PROCESSES];
    unsigned n = MAX_PROCESSES;
    if (p_nvmlDeviceGetProcessUtilization(d, samples, &n, last_seen[current]) != NVML_SUCCESS) return;
    for (unsigned i = 0; i < n; i++)
        if (samples[i].timeStamp > last_seen[current]) last_seen[current] = samples[i].timeStamp;
}

static void fields(nvmlDevice_t d)
{
    static const unsigned ids[] = {74, 76, 82, 142, 143, 144, 145, 197, 198, 269, 270, 271};
    nvmlFieldValue_t values[12] = {0};
    for (int i = 0; i < 12; i++)
        values[i].fieldId = ids[i];
    p_nvmlDeviceGetFieldValues(d, 12, values);
}

static const struct {
    void (*call)(nvmlDevice_t);
    int times;
} sweep[] = {
    {utilization, 1}, {encoder, 1},      {decoder, 1},     {memory, 1},  {temperature, 1}, {power, 1},  {limit, 1},
    {energy, 1},      {graphics_clock, 1}, {sm_clock, 1},  {memory_clock, 1}, {video_clock, 1}, {pstate, 1}, {fan, 1},
    {generation, 1},  {width, 1},        {reasons, 1},     {compute, 1}, {graphics, 1},    {processes, 1}, {fields, 1},
};
#define STEPS (sizeof sweep / sizeof *sweep)

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    long sweeps = argc > 2 ? atol(argv[2]) : 20000;
    library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "usage: sweep LIBRARY [SWEEPS]\n%s\n", argc > 1 ? dlerror() : "");
        return 2;
    }
#define RESOLVE(name)                                          \
    *(void **)&p_##name = dlsym(library, #name);               \
    if (!p_##name) return fprintf(stderr, "no %s\n", #name), 1;
    SYMBOLS(RESOLVE)
    unsigned gpus = 0;
    nvmlDevice_t devices[64];
    if (p_nvmlInit_v2() != NVML_SUCCESS || p_nvmlDeviceGetCount_v2(&gpus) != NVML_SUCCESS) return 1;
    for (unsigned i = 0; i < gpus && i < 64; i++)
        p_nvmlDeviceGetHandleByIndex_v2(i, &devices[i]);
    long calls = 0;
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (long n = 0; n < sweeps; n++)
        for (current = 0; current < gpus; current++)
            for (size_t s = 0; s < STEPS; s++)
                for (int k = 0; k < sweep[s].times; k++, calls++)
                    sweep[s].call(devices[current]);
    wall = now(CLOCK_MONOTONIC) - wall;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%u GPUs, %ld sweeps, %ld calls per sweep\n", gpus, sweeps, calls / sweeps);
    printf("wall  %8.2f us per sweep  %7.1f ns per call\n", wall / (double)sweeps, wall * 1e3 / (double)calls);
    printf("cpu   %8.2f us per sweep  %7.1f ns per call\n", cpu / (double)sweeps, cpu * 1e3 / (double)calls);
    p_nvmlShutdown();
    return 0;
}
