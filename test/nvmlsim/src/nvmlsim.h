/*
 * The functions of the simulated library for tests, beside NVML itself. Find them with dlsym. They work at any time,
 * also before nvmlInit and after nvmlShutdown.
 */
#ifndef NVMLSIM_H
#define NVMLSIM_H

/* Calls of one function ("nvmlDeviceGetPowerUsage") since the start or the last reset; 0 for an unknown name. */
unsigned long long nvmlsimCallCount(const char *function);

/*
 * Calls of it that failed. Results of normal queries are not failures: INSUFFICIENT_SIZE for a size query, NOT_FOUND
 * when there are no newer samples or no MIG device at an index, TIMEOUT of a wait for events.
 */
unsigned long long nvmlsimErrorCount(const char *function);

/* Nanoseconds that a real driver would have taken for its calls, by the scenario's [cost], whether or not they were taken. */
unsigned long long nvmlsimDriverTime(const char *function);
unsigned long long nvmlsimTotalDriverTime(void);

unsigned long long nvmlsimTotalCalls(void);
unsigned long long nvmlsimTotalErrors(void);
void nvmlsimResetCalls(void);

/* Calls that are inside the library now, including waiting ones. */
unsigned int nvmlsimOutstanding(void);

/* Those of them that wait: a call that hangs, for the end of its fault, with an interruption of microseconds every 20 ms. */
unsigned int nvmlsimWaiting(void);

/* Number of states so far: grows by one whenever a changed control file has taken effect. */
unsigned long long nvmlsimGeneration(void);

/* The error in the scenario or control file read last; empty if there was none. Valid until the next call. */
const char *nvmlsimLastError(void);

#endif
