/*
 * What the parts of the simulated NVML share. Only functions of functions.def and nvmlsim.h leave the library.
 *
 * The state of all GPUs is an immutable snapshot, built from the scenario and the control file together. A call loads
 * the current snapshot once and reads only that; the watcher thread (engine.c) builds a new one when the control file
 * changes and swaps the pointer. So a call costs no lock, and never sees half of a change.
 */
#ifndef NVMLSIM_SIM_H
#define NVMLSIM_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvml.h>

#pragma GCC visibility push(hidden)

#define MAX_GPUS 64
#define MAX_MIGS 8
#define MAX_LINKS 36

/* An attribute that the board does not have. */
#define UNSUPPORTED INT32_MIN

/* The driver branch that this build of the library simulates: variant.c. */
extern const int sim_driver;

enum function {
#define FN(name, since, takes) FN_##name,
#include "functions.def"
#undef FN
    FN_COUNT
};

enum takes { TAKES_NONE, TAKES_LOOKUP, TAKES_GPU, TAKES_BUSY, TAKES_ANY, TAKES_MIG };

struct function_info {
    const char *name;
    enum takes takes;
};
extern const struct function_info sim_functions[FN_COUNT];

/* ---- numbers over time: series.c ---------------------------------------------------------------------------- */

enum series_kind { S_CONST, S_ERROR, S_AUTO, S_RAW, S_RAMP, S_SINE, S_SQUARE, S_STEPS, S_COUNTER, S_NOISE };

struct series {
    enum series_kind kind;
    nvmlReturn_t error;        /* S_ERROR */
    uint64_t raw;              /* S_RAW: returned unchanged, whatever the unit */
    double a, b, c, d, e;      /* the arguments, in the order in which they are written */
    unsigned nsteps;           /* S_STEPS: pairs of time and value */
    const double *steps;
    const struct series *plus; /* the next term of a sum */
    double carried;            /* difference of the integral from that of the value it replaced: see continue.c */
};

struct arena;
bool series_parse(struct arena *arena, const char *text, struct series *out, char *err, size_t errlen);
double series_at(const struct series *s, double t);
double series_integral(const struct series *s, double t); /* from 0 to t */
bool series_constant(const struct series *s);
bool parse_number(const char **text, double *out);
bool parse_duration(const char *text, double *seconds);
bool parse_return(const char *text, nvmlReturn_t *out);
bool function_matches(const char *pattern, enum function fn);

/* ---- scenario files ------------------------------------------------------------------------------------------ */

struct entry {
    char *key, *value;
    int line;
};
struct section {
    char *kind, *arg;
    int line;
    struct entry *entries;
    unsigned count;
};
struct text {
    char *name;   /* for messages */
    char *buffer; /* memory of the entries */
    struct section *sections;
    unsigned count;
};
bool text_parse(const char *name, const char *content, struct text *out, char *err, size_t errlen);
void text_free(struct text *text);

/* Memory of one snapshot, freed as a whole. */
struct arena *arena_new(void);
void *arena_alloc(struct arena *arena, size_t size);
void arena_free(struct arena *arena);

/* ---- the state ------------------------------------------------------------------------------------------------ */

enum value {
#define V(id, key, factor, max, expr) V_##id,
#include "values.def"
#undef V
    V_COUNT
};

struct value_info {
    const char *key;
    double factor, max;
    const char *expr;
};
extern const struct value_info sim_values[V_COUNT];

struct process {
    char name[128]; /* the answer of SystemGetProcessName */
    unsigned pid;
    char type;               /* 'C'ompute, 'G'raphics or 'M'PS client */
    int mig;                 /* index of the MIG device, -1: the whole GPU */
    bool listed, sampled;    /* in the process lists; in the utilization samples */
    double from, until;
    struct series memory, sm, mem, enc, dec, jpg, ofa;
};

struct field_override {
    unsigned id;
    int scope; /* -1: any */
    struct series value;
    struct field_override *next;
};

struct mig {
    bool present;
    unsigned gi, ci;
    unsigned gpu_slices, compute_slices, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
    unsigned start; /* of its placement */
    char profile[32], uuid[96];
    struct series v[V_COUNT];
};

struct gpu {
    int slot; /* its number in the scenario; the index NVML shows may differ once others are removed */
    bool present;
    char name[96], uuid[96], serial[32], vbios[32], inforom[32], part[32], gsp[64];
    unsigned domain, bus, device, pci_device, pci_subsystem;
    int cc_major, cc_minor, architecture, brand, minor, numa_node, module_id;
    int persistence, accounting, ecc, ecc_pending, gsp_mode, virtualization, compute_mode, addressing, c2c, display;
    int mig_mode, mig_pending, mig_max, license;
    int p2p[NVML_P2P_CAPS_INDEX_UNKNOWN]; /* nvmlGpuP2PStatus_t by capability */
    int fans, links, link_version, link_remote, gpm, cores, bus_width;
    uint64_t links_down, events;
    int fabric_state, fabric_status, fabric_clique, fabric_health, fabric_summary, fabric_version;
    char fabric_cluster[40];
    double sample_period;
    int sample_count, sample_history, process_samples, process_slack, process_entry;
    struct field_override *fields;
    struct series v[V_COUNT];
    struct mig mig[MAX_MIGS];
    struct process *processes;
    unsigned nprocesses;
    bool memory_constant; /* the processes' memory does not change: its sum is process_memory */
    double process_memory;
};

/* The state of a fault. It outlives a snapshot while the fault stands unchanged in the files. */
struct fault_state {
    uint64_t key;
    atomic_ullong seen;
    struct fault_state *next;
};

struct fault {
    char name[64];
    uint64_t key, gpus; /* key: hash of the whole section; gpus: one bit per slot */
    bool any_gpu;       /* no gpu given: calls without a device as well */
    bool whole_device;  /* no function given */
    bool at_start;      /* looking the handle up fails too */
    int mig;            /* -1: parent and MIG devices alike; -2: not the MIG devices */
    uint64_t functions[(FN_COUNT + 63) / 64];
    uint64_t fields[8]; /* field ids, where only those fail */
    bool has_fields;
    nvmlReturn_t result;
    bool hang;
    double hang_seconds, latency, from, until; /* hang_seconds 0: until the fault is gone */
    bool busy_wait;
    unsigned long long skip, calls;
    struct fault_state *state;
};

struct event {
    char name[64];
    uint64_t key;
    int gpu, mig;
    unsigned long long type, data;
    double at; /* negative: as soon as somebody listens */
    double repeat;
};

#define MAX_FIELD 512 /* more than any field id */

enum cost_wait { COST_COUNTED, COST_SLEEP, COST_BUSY };

/* The time that a real driver would take for its calls, in nanoseconds. */
struct cost {
    uint64_t functions[FN_COUNT];
    uint64_t fields[MAX_FIELD]; /* of each field of GetFieldValues, if it is asked alone */
    double field_factor;        /* for all fields */
    enum cost_wait wait;
};

struct snapshot {
    struct arena *arena;
    struct snapshot *next; /* in the list of retired ones */
    unsigned ngpus;        /* slots */
    unsigned order[MAX_GPUS], visible; /* NVML index to slot */
    struct gpu *gpus;
    struct fault *faults;
    unsigned nfaults;
    struct event *events;
    unsigned nevents;
    unsigned char hot[FN_COUNT]; /* some fault may concern this function */
    bool manual;                 /* the files define the time, not the clock */
    bool since_boot;             /* the driver's times count from the machine's boot */
    double now;
    char driver_version[32], nvml_version[64];
    int cuda_version;
    int cc_environment, cc_feature, cc_devtools, cc_multigpu;
    double pcie_seconds; /* measuring time of GetPcieThroughput */
    struct cost cost;
};

struct snapshot *snapshot_build(const struct text *scenario, const struct text *control, char *err, size_t errlen);
void snapshot_free(struct snapshot *snap);
void snapshot_continue(struct snapshot *snap, const struct snapshot *before, double t);

/* Steps of snapshot_build. Each reports errors with file and line. */
struct process_section;
struct builder {
    struct snapshot *snap;
    const struct text *text; /* the file being read */
    struct process_section *processes;
    char *err;
    size_t errlen;
};
bool builder_fail(struct builder *b, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void gpu_defaults(struct gpu *gpu, int slot);
bool gpu_set(struct builder *b, struct gpu *gpu, const struct entry *entry);
bool read_mig(struct builder *b, const struct section *section);
bool read_process(struct builder *b, const struct section *section);
void place_processes(struct builder *b);
bool read_fault(struct builder *b, const struct section *section);
bool read_event(struct builder *b, const struct section *section);
bool read_cost(struct builder *b, const struct section *section);
bool value_set(struct builder *b, struct series *v, const struct entry *entry, bool *known);
bool slots_parse(const struct snapshot *snap, const char *text, uint64_t *out);
bool bool_parse(const char *text, bool *out);
const char *board_text(const char *name);
bool partitioned(const struct gpu *gpu);
uint64_t section_key(const struct section *section);

/* ---- a call ---------------------------------------------------------------------------------------------------- */

enum handle_kind { HANDLE_GPU, HANDLE_MIG };

/* Handles are fixed addresses: they stay valid however often the state changes, as the driver's do. */
struct nvmlDevice_st {
    unsigned char kind, slot, mig;
};
nvmlDevice_t handle_of(int slot, int mig);
bool handle_resolve(nvmlDevice_t device, int *slot, int *mig);

struct call {
    enum function fn;
    const struct snapshot *snap;
    const struct gpu *gpu;
    const struct mig *mig; /* of a MIG handle */
    const struct series *v; /* the values of the MIG device or of the GPU */
    double t;               /* scenario time, once call_time was asked */
    bool timed, quiet;      /* quiet: the result is no failure (a size query, nothing new) */
    uint64_t cost;          /* nanoseconds of driver time beside that of the function */
};

bool call_begin(struct call *c, enum function fn, nvmlReturn_t *ret);
bool call_begin_lookup(struct call *c, enum function fn, nvmlReturn_t *ret); /* the faults are for call_end_lookup */
nvmlReturn_t call_end_lookup(struct call *c, nvmlReturn_t ret, int slot, int mig, nvmlDevice_t *out);
void call_enter(struct call *c, enum function fn);
bool call_begin_device(struct call *c, enum function fn, nvmlDevice_t device, nvmlReturn_t *ret);
nvmlReturn_t call_end(struct call *c, nvmlReturn_t ret);
double call_time(struct call *c);
unsigned long long call_timestamp(double t); /* microseconds since 1970 */
void call_block(struct call *c);   /* about to wait: the snapshot is let go ... */
void call_unblock(struct call *c); /* ... and the snapshot that is then current is taken */

#define BEGIN(fn)                                       \
    struct call call;                                   \
    nvmlReturn_t began;                                 \
    if (!call_begin(&call, FN_##fn, &began)) return began
#define BEGIN_DEVICE(fn, device)                        \
    struct call call;                                   \
    nvmlReturn_t began;                                 \
    if (!call_begin_device(&call, FN_##fn, device, &began)) return began
#define END(ret) return call_end(&call, ret)
#define REQUIRE(condition) \
    if (!(condition)) END(NVML_ERROR_INVALID_ARGUMENT)

/* values.c: the current value, in NVML's unit */
nvmlReturn_t value_real(struct call *c, enum value id, double *out);
nvmlReturn_t value_u64(struct call *c, enum value id, unsigned long long *out);
nvmlReturn_t value_u32(struct call *c, enum value id, unsigned int *out);
nvmlReturn_t value_int(struct call *c, enum value id, int *out);
nvmlReturn_t value_at(const struct gpu *gpu, const struct series *v, enum value id, double t, double *out);
nvmlReturn_t value_integral(const struct gpu *gpu, const struct series *v, enum value id, double t, double *out);
nvmlReturn_t copy_string(const char *text, char *out, unsigned int length);

/* faults.c */
nvmlReturn_t fault_check(struct call *c, int slot, int mig, bool lookup);
nvmlReturn_t fault_field(struct call *c, unsigned field);
void pause_seconds(double seconds, bool busy);

/* api_nvlink.c */
unsigned link_version(const struct gpu *gpu);

/* processes.c */
bool process_alive(const struct process *p, double t);
double process_memory(const struct gpu *gpu, int mig, double t);

/* engine.c */
nvmlReturn_t engine_init(struct call *c);
nvmlReturn_t engine_shutdown(struct call *c);
bool engine_ready(void);
const struct snapshot *engine_snapshot(void);
double engine_time(const struct snapshot *snap);
unsigned long long engine_epoch_us(void);
void engine_wait_change(const struct snapshot *seen, double seconds);
unsigned engine_life(void); /* a different number after each final shutdown */

/* control.c */
void set_error(const char *text);
char *read_file(const char *path);
bool control_open(const char *scenario_path);
bool control_changed(void);
bool control_read(struct text *out, char *err, size_t errlen);
void control_acknowledge(void);

/* calls.c */
extern atomic_ullong sim_inside; /* low half: calls inside; high half: those of them that wait */
bool calls_reading(void);        /* some call holds a snapshot */
void stats_write(void);

/* api_events.c */
void events_tick(const struct snapshot *snap, double t);
void events_forget(const struct snapshot *snap);
void events_close(void);

#pragma GCC visibility pop

#endif
