/*
 * What a sweep over all GPUs costs without Go: the calls that a scrape makes, straight through the library's C interface.
 *
 *   sweep LIBRARY [SWEEPS]
 *
 * The table below is the sweep. Keep it as the receiver's scraper is.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nvml.h>

#define MAX_PROCESSES 256

static void *library;

/* Looks up a function by name, with the type that the header declares. */
#define SYMBOL(name) static __typeof__(&name) p_##name;
#define SYMBOLS(X)                                                                                                     \
    X(nvmlInit_v2) X(nvmlShutdown) X(nvmlDeviceGetCount_v2) X(nvmlDeviceGetHandleByIndex_v2) X(nvmlDeviceGetMigMode)   \
    X(nvmlDeviceGetUtilizationRates) X(nvmlDeviceGetEncoderUtilization) X(nvmlDeviceGetDecoderUtilization)             \
    X(nvmlDeviceGetJpgUtilization) X(nvmlDeviceGetOfaUtilization) X(nvmlDeviceGetSamples) X(nvmlDeviceGetMemoryInfo_v2) \
    X(nvmlDeviceGetTemperature) X(nvmlDeviceGetMarginTemperature) X(nvmlDeviceGetClockInfo)                            \
    X(nvmlDeviceGetPerformanceState) X(nvmlDeviceGetCurrPcieLinkGeneration) X(nvmlDeviceGetCurrPcieLinkWidth)          \
    X(nvmlDeviceGetCurrentClocksEventReasons) X(nvmlDeviceGetComputeRunningProcesses_v3)                               \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3) X(nvmlDeviceGetMPSComputeRunningProcesses_v3)                          \
    X(nvmlDeviceGetProcessUtilization) X(nvmlDeviceGetFieldValues) X(nvmlGpmSampleAlloc) X(nvmlGpmSampleGet)           \
    X(nvmlGpmMetricsGet) X(nvmlEventSetCreate) X(nvmlEventSetWait_v2)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SYMBOLS(SYMBOL)

#define MAX_GPUS 64
static unsigned current; /* the GPU's index */
static long calls;

static void mig_mode(nvmlDevice_t d) { unsigned now, pending; p_nvmlDeviceGetMigMode(d, &now, &pending); }
static void memory(nvmlDevice_t d) { nvmlMemory_v2_t m = {.version = nvmlMemory_v2}; p_nvmlDeviceGetMemoryInfo_v2(d, &m); }
static void temperature(nvmlDevice_t d) { unsigned t; p_nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &t); }
static void margin(nvmlDevice_t d)
{
    nvmlMarginTemperature_t m = {.version = nvmlMarginTemperature_v1};
    p_nvmlDeviceGetMarginTemperature(d, &m);
}
static void graphics_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_GRAPHICS, &c); }
static void sm_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_SM, &c); }
static void memory_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_MEM, &c); }
static void video_clock(nvmlDevice_t d) { unsigned c; p_nvmlDeviceGetClockInfo(d, NVML_CLOCK_VIDEO, &c); }
static void pstate(nvmlDevice_t d) { nvmlPstates_t p; p_nvmlDeviceGetPerformanceState(d, &p); }
static void generation(nvmlDevice_t d) { unsigned g; p_nvmlDeviceGetCurrPcieLinkGeneration(d, &g); }
static void width(nvmlDevice_t d) { unsigned w; p_nvmlDeviceGetCurrPcieLinkWidth(d, &w); }
static void reasons(nvmlDevice_t d) { unsigned long long r; p_nvmlDeviceGetCurrentClocksEventReasons(d, &r); }

/* The samples since the last sweep; without any, the current value. */
static bool samples(nvmlDevice_t d, nvmlSamplingType_t kind)
{
    static unsigned long long last[MAX_GPUS][NVML_SAMPLINGTYPE_COUNT];
    static nvmlSample_t list[128];
    unsigned n = 128;
    nvmlValueType_t type;
    unsigned long long *seen = &last[current][kind];
    if (p_nvmlDeviceGetSamples(d, kind, *seen, &type, &n, list) != NVML_SUCCESS) return false;
    for (unsigned i = 0; i < n; i++)
        if (list[i].timeStamp > *seen) *seen = list[i].timeStamp;
    return true;
}
static void utilization(nvmlDevice_t d)
{
    bool general = samples(d, NVML_GPU_UTILIZATION_SAMPLES), memory = samples(d, NVML_MEMORY_UTILIZATION_SAMPLES);
    calls++;
    if (general && memory) return;
    nvmlUtilization_t u;
    p_nvmlDeviceGetUtilizationRates(d, &u);
    calls++;
}
#define ENGINE(name, kind, function)                       \
    static void name(nvmlDevice_t d)                       \
    {                                                      \
        unsigned u, period;                                \
        if (!samples(d, kind)) function(d, &u, &period), calls++; \
    }
ENGINE(encoder, NVML_ENC_UTILIZATION_SAMPLES, p_nvmlDeviceGetEncoderUtilization)
ENGINE(decoder, NVML_DEC_UTILIZATION_SAMPLES, p_nvmlDeviceGetDecoderUtilization)
ENGINE(jpeg, NVML_JPG_UTILIZATION_SAMPLES, p_nvmlDeviceGetJpgUtilization)
ENGINE(ofa, NVML_OFA_UTILIZATION_SAMPLES, p_nvmlDeviceGetOfaUtilization)

#define LIST(name, function)                               \
    static void name(nvmlDevice_t d)                       \
    {                                                      \
        static nvmlProcessInfo_t infos[MAX_PROCESSES];     \
        unsigned n = MAX_PROCESSES;                        \
        function(d, &n, infos);                            \
    }
LIST(compute, p_nvmlDeviceGetComputeRunningProcesses_v3)
LIST(graphics, p_nvmlDeviceGetGraphicsRunningProcesses_v3)
LIST(mps, p_nvmlDeviceGetMPSComputeRunningProcesses_v3)

static void processes(nvmlDevice_t d)
{
    static unsigned long long last[MAX_GPUS];
    static nvmlProcessUtilizationSample_t list[MAX_PROCESSES];
    unsigned n = MAX_PROCESSES;
    if (p_nvmlDeviceGetProcessUtilization(d, list, &n, last[current]) != NVML_SUCCESS) return;
    for (unsigned i = 0; i < n; i++)
        if (list[i].timeStamp > last[current]) last[current] = list[i].timeStamp;
}

static void fields(nvmlDevice_t d)
{
    static const struct { unsigned id, scope; } asks[] = {
        {83, 0},  {185, 0}, {190, 0}, {82, 0},  {197, 0}, {198, 0}, {94, 0},    {74, 0},    {76, 0},
        {269, 0}, {270, 0}, {271, 0}, {1, 0},   {3, 0},   {4, 0},   {142, 0},   {143, 0},   {144, 0},
        {145, 0}, {230, 0}, {138, ~0u}, {139, ~0u}, {38, 0}, {45, 0}, {52, 0},  {59, 0},    {160, 0},
    };
    enum { FIELDS = sizeof asks / sizeof *asks };
    nvmlFieldValue_t values[FIELDS];
    for (int i = 0; i < FIELDS; i++)
        values[i] = (nvmlFieldValue_t){.fieldId = asks[i].id, .scopeId = asks[i].scope};
    p_nvmlDeviceGetFieldValues(d, FIELDS, values);
}

static void pipes(nvmlDevice_t d)
{
    static nvmlGpmSample_t gpm[MAX_GPUS][2];
    static nvmlGpmMetricsGet_t get = {.version = NVML_GPM_METRICS_GET_VERSION, .numMetrics = 9};
    static const unsigned ids[9] = {1, 2, 4, 5, 10, 11, 12, 13, 3};
    static bool taken[MAX_GPUS];
    nvmlGpmSample_t *pair = gpm[current];
    if (!pair[0].handle) p_nvmlGpmSampleAlloc(&pair[0]), p_nvmlGpmSampleAlloc(&pair[1]);
    p_nvmlGpmSampleGet(d, pair[1]);
    if (taken[current]) {
        for (int i = 0; i < 9; i++)
            get.metrics[i].metricId = ids[i];
        get.sample1 = pair[0];
        get.sample2 = pair[1];
        p_nvmlGpmMetricsGet(&get);
        calls++;
    }
    nvmlGpmSample_t swap = pair[0];
    pair[0] = pair[1];
    pair[1] = swap;
    taken[current] = true;
}

static void (*const sweep[])(nvmlDevice_t) = {
    mig_mode,   fields,        memory,   utilization,  encoder,     decoder, jpeg,       ofa,   temperature, margin, graphics_clock,
    sm_clock,   memory_clock,  video_clock, reasons,   pstate,      generation, width,   pipes, compute,     graphics, mps,
    processes,
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
    nvmlDevice_t devices[MAX_GPUS];
    if (p_nvmlInit_v2() != NVML_SUCCESS || p_nvmlDeviceGetCount_v2(&gpus) != NVML_SUCCESS) return 1;
    for (unsigned i = 0; i < gpus && i < MAX_GPUS; i++)
        p_nvmlDeviceGetHandleByIndex_v2(i, &devices[i]);
    nvmlEventSet_t events;
    nvmlEventData_t event;
    p_nvmlEventSetCreate(&events);
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (long n = 0; n < sweeps; n++) {
        for (current = 0; current < gpus; current++)
            for (size_t i = 0; i < STEPS; i++, calls++)
                sweep[i](devices[current]);
        p_nvmlEventSetWait_v2(events, &event, 0);
        calls++;
    }
    wall = now(CLOCK_MONOTONIC) - wall;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%u GPUs, %ld sweeps, %ld calls per sweep\n", gpus, sweeps, calls / sweeps);
    printf("wall  %8.2f us per sweep  %7.1f ns per call\n", wall / (double)sweeps, wall * 1e3 / (double)calls);
    printf("cpu   %8.2f us per sweep  %7.1f ns per call\n", cpu / (double)sweeps, cpu * 1e3 / (double)calls);
    p_nvmlShutdown();
    return 0;
}
