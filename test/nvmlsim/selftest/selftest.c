/*
 * Runs the simulator from many threads while its state changes under them, for the sanitizers to watch (make check).
 * What the functions answer is tested in ../sim_test.go.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nvml.h>

#include "../src/nvmlsim.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#undef NDEBUG

static char control[256], scenario[256];
static atomic_bool done;
static atomic_ulong good, bad;

static void put(const char *path, const char *text, int in_place)
{
    char temporary[300];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    FILE *file = fopen(in_place ? path : temporary, "w");
    assert(file);
    fputs(text, file);
    assert(fclose(file) == 0);
    if (!in_place) assert(rename(temporary, path) == 0);
}

static void count(nvmlReturn_t ret)
{
    atomic_fetch_add(ret == NVML_SUCCESS ? &good : &bad, 1);
}

static void *reader(void *arg)
{
    unsigned index = (unsigned)(uintptr_t)arg % 4;
    unsigned long long seen = 0;
    nvmlGpmSample_t a, b;
    assert(nvmlGpmSampleAlloc(&a) == NVML_SUCCESS && nvmlGpmSampleAlloc(&b) == NVML_SUCCESS);
    while (!atomic_load(&done)) {
        nvmlDevice_t device;
        unsigned value;
        char text[96];
        nvmlUtilization_t rates;
        nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
        nvmlProcessInfo_t infos[64];
        nvmlProcessUtilizationSample_t samples[64];
        nvmlFieldValue_t fields[4] = {{.fieldId = 83}, {.fieldId = 138, .scopeId = ~0u}, {.fieldId = 185}, {.fieldId = 999}};
        nvmlReturn_t ret = nvmlDeviceGetHandleByIndex_v2(index, &device);
        count(ret);
        if (ret != NVML_SUCCESS) continue;
        count(nvmlDeviceGetPowerUsage(device, &value));
        count(nvmlDeviceGetName(device, text, sizeof text));
        count(nvmlDeviceGetUtilizationRates(device, &rates));
        count(nvmlDeviceGetMemoryInfo_v2(device, &memory));
        value = 64;
        count(nvmlDeviceGetComputeRunningProcesses_v3(device, &value, infos));
        value = 64;
        if (nvmlDeviceGetProcessUtilization(device, samples, &value, seen) == NVML_SUCCESS) seen = samples[0].timeStamp;
        count(nvmlDeviceGetFieldValues(device, 4, fields));
        nvmlDevice_t mig;
        if (nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &mig) == NVML_SUCCESS) {
            count(nvmlDeviceGetUUID(mig, text, sizeof text));
            count(nvmlDeviceGetMemoryInfo_v2(mig, &memory));
        }
        nvmlValueType_t type;
        nvmlSample_t ring[100];
        value = 100;
        count(nvmlDeviceGetSamples(device, NVML_TOTAL_POWER_SAMPLES, 0, &type, &value, ring));
        count(nvmlGpmSampleGet(device, a));
        count(nvmlGpmSampleGet(device, b));
        nvmlGpmMetricsGet_t get = {.version = NVML_GPM_METRICS_GET_VERSION, .numMetrics = 2, .sample1 = a, .sample2 = b};
        get.metrics[0].metricId = NVML_GPM_METRIC_SM_UTIL;
        get.metrics[1].metricId = NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC;
        nvmlGpmMetricsGet(&get);
    }
    nvmlGpmSampleFree(a);
    nvmlGpmSampleFree(b);
    return NULL;
}

static void *listener(void *arg)
{
    (void)arg;
    nvmlEventSet_t set;
    assert(nvmlEventSetCreate(&set) == NVML_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        nvmlDevice_t device;
        if (nvmlDeviceGetHandleByIndex_v2(i, &device) == NVML_SUCCESS)
            nvmlDeviceRegisterEvents(device, nvmlEventTypeXidCriticalError, set);
    }
    unsigned long heard = 0;
    while (!atomic_load(&done)) {
        nvmlEventData_t data;
        if (nvmlEventSetWait_v2(set, &data, 50) == NVML_SUCCESS) heard++;
    }
    nvmlEventSetFree(set);
    return (void *)heard;
}

static void *initialiser(void *arg)
{
    (void)arg;
    while (!atomic_load(&done)) {
        if (nvmlInit_v2() == NVML_SUCCESS) assert(nvmlShutdown() == NVML_SUCCESS);
        usleep(3000);
    }
    return NULL;
}

/* Every kind of change, one after the other, by rename and in place. */
static void change(int seconds)
{
    static const char *const texts[] = {
        "",
        "[fault a]\ngpu = 1\nkind = lost\n",
        "[fault b]\ngpu = 2\nfunction = nvmlDeviceGetName\nhang = true\n",
        "[gpu 0]\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\n[event x]\ngpu = 1\nxid = 79\n",
        "[gpu 3]\npresent = false\n[event y]\ngpu = 0\nxid = 13\n",
        "[fault c]\nlatency = 1ms\nfunction = nvmlDeviceGetPowerUsage\ncalls = 50\n",
        "[fault d]\nkind = driver\nfunction = nvmlDevice*\n",
        "[gpu *]\npower = sine(300, 100, 10)\n[process p]\nmemory = ramp(1Gi, 9Gi, 3)\n",
        "this is no control file\n",
    };
    for (int i = 0; i < seconds * 20; i++) {
        put(control, texts[i % 9], i % 3 == 0);
        usleep(50000);
    }
    put(control, "", 0);
}

static void life(int seconds)
{
    pthread_t readers[6], others[2];
    void *heard;
    atomic_store(&done, 0);
    assert(nvmlInit_v2() == NVML_SUCCESS);
    for (size_t i = 0; i < 6; i++)
        pthread_create(&readers[i], NULL, reader, (void *)i);
    pthread_create(&others[0], NULL, listener, NULL);
    pthread_create(&others[1], NULL, initialiser, NULL);
    change(seconds);
    atomic_store(&done, 1);
    for (size_t i = 0; i < 6; i++)
        pthread_join(readers[i], NULL);
    pthread_join(others[0], &heard);
    pthread_join(others[1], NULL);
    assert(heard);
    assert(nvmlsimOutstanding() == 0);
    assert(nvmlShutdown() == NVML_SUCCESS);
    assert(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
}

static void *stuck(void *arg)
{
    nvmlDevice_t device = *(nvmlDevice_t *)arg;
    char name[96];
    return (void *)(uintptr_t)nvmlDeviceGetName(device, name, sizeof name);
}

/* A call that hangs while the library is shut down returns UNINITIALIZED. */
static void shutdown_under_a_hang(void)
{
    nvmlDevice_t device;
    pthread_t thread;
    void *ret;
    put(control, "[fault h]\nfunction = nvmlDeviceGetName\nhang = true\n", 0);
    assert(nvmlInit_v2() == NVML_SUCCESS);
    assert(nvmlDeviceGetHandleByIndex_v2(0, &device) == NVML_SUCCESS);
    pthread_create(&thread, NULL, stuck, &device);
    while (nvmlsimWaiting() == 0)
        usleep(1000);
    assert(nvmlShutdown() == NVML_SUCCESS);
    pthread_join(thread, &ret);
    assert((uintptr_t)ret == NVML_ERROR_UNINITIALIZED);
    assert(nvmlDeviceGetIndex(device, &(unsigned){0}) == NVML_ERROR_UNINITIALIZED);
    put(control, "", 0);
}

/* Handles that were never valid. */
static void wrong_handles(void)
{
    unsigned value;
    assert(nvmlInit_v2() == NVML_SUCCESS);
    assert(nvmlDeviceGetPowerUsage((nvmlDevice_t){NULL}, &value) == NVML_ERROR_INVALID_ARGUMENT);
    assert(nvmlDeviceGetPowerUsage((nvmlDevice_t){(void *)(uintptr_t)0xdeadbeef}, &value) == NVML_ERROR_INVALID_ARGUMENT);
    assert(nvmlEventSetFree((nvmlEventSet_t){(void *)(uintptr_t)0xdeadbeef}) == NVML_ERROR_INVALID_ARGUMENT);
    assert(nvmlShutdown() == NVML_SUCCESS);
}

int main(void)
{
    char folder[] = "/tmp/nvmlsim-selftest-XXXXXX";
    assert(mkdtemp(folder));
    snprintf(scenario, sizeof scenario, "%s/scenario", folder);
    snprintf(control, sizeof control, "%s/scenario.control", folder);
    put(scenario, "gpus = 4\n[process p]\ngpu = *\ncount = 5\npid = 100\nmemory = 1Gi\nsm = 10\n", 0);
    setenv("NVMLSIM_SCENARIO", scenario, 1);
    if (!freopen("/dev/null", "w", stderr)) return 1; /* the invalid control file is intentional */
    life(3);
    life(2);
    shutdown_under_a_hang();
    wrong_handles();
    printf("%lu calls succeeded, %lu failed as they should\n", good, bad);
    remove(scenario);
    remove(control);
    rmdir(folder);
    return 0;
}
