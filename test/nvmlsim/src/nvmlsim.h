/*
 * What a test may ask of the simulated library beside NVML itself. Find these with dlsym; they work at any time, also
 * before nvmlInit and after nvmlShutdown.
 */
#ifndef NVMLSIM_H
#define NVMLSIM_H

/* Calls of one function ("nvmlDeviceGetPowerUsage") since the start or the last reset; 0 for an unknown name. */
unsigned long long nvmlsimCallCount(const char *function);

/*
 * Calls of it that failed. What belongs to the ordinary way of asking is no failure: INSUFFICIENT_SIZE for a size query,
 * NOT_FOUND when there are no newer samples or no MIG device at an index, TIMEOUT of a wait for events.
 */
unsigned long long nvmlsimErrorCount(const char *function);

unsigned long long nvmlsimTotalCalls(void);
unsigned long long nvmlsimTotalErrors(void);
void nvmlsimResetCalls(void);

/* Calls that are inside the library now, waiting ones included. */
unsigned int nvmlsimOutstanding(void);

/* How many states there have been: grows by one whenever a changed control file has taken effect. */
unsigned long long nvmlsimGeneration(void);

/* What was wrong with the scenario or control file read last; empty when all was well. Valid until the next call. */
const char *nvmlsimLastError(void);

#endif
