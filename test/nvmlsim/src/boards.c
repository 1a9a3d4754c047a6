/* The boards that a scenario can name; "board = h100" is equivalent to these lines in the scenario. */
#include <string.h>

#include "sim.h"

static const char h100[] =
    "name = NVIDIA H100 80GB HBM3\n"
    "part = 692-2G520-0200-000\nvbios = 96.00.61.00.01\ninforom = G520.0200.00.05\ngsp.version = 580.95.05\ngsp.mode = 1\n"
    "compute_capability = 9.0\narchitecture = 9\nbrand = 14\ndevice_id = 0x233010DE\nsubsystem_id = 0x16C110DE\n"
    "cores = 16896\nfans = 0\nfan = unsupported\nmig = 0\ngpm = 1\naccounting = 0\nbus_width = 5120\n"
    "links = 18\nlink.version = 4\nnvlink.speed = 26562\n"
    "fabric.state = 3\nfabric.status = 0\nfabric.clique = 0\nfabric.health = 0x1aa\nfabric.summary = 1\n"
    "fabric.cluster = 00000000-0000-0000-0000-000000000000\n"
    "memory.total = 85520809984\nmemory.reserved = 652Mi\nbar1.total = 128Gi\nprotected.total = 0\nprotected.used = 0\n"
    "temperature = 34\ntemperature.memory = 42\nthreshold.shutdown = 95\nthreshold.slowdown = 92\n"
    "threshold.memory_max = 95\nthreshold.gpu_max = 87\n"
    "tlimit.margin = 53\ntlimit.shutdown = -8\ntlimit.slowdown = -2\ntlimit.memory_max = 0\ntlimit.gpu_max = 0\n"
    "power = 70\npower.memory = 30\npower.limit = 700\npower.limit.min = 200\npower.limit.max = 700\n"
    "clock.graphics = 1980\nclock.memory = 2619\nclock.video = 1545\n"
    "clock.max.graphics = 1980\nclock.max.memory = 2619\nclock.max.video = 1545\n"
    "pcie.generation = 5\nreasons.supported = 0x1ff\nremapped.banks.max = 2560\n";

static const char a100[] =
    "name = NVIDIA A100-SXM4-80GB\n"
    "part = 692-2G506-0212-002\nvbios = 92.00.45.00.06\ninforom = G506.0212.00.02\ngsp.version = unsupported\ngsp.mode = 0\n"
    "compute_capability = 8.0\narchitecture = 7\nbrand = 14\ndevice_id = 0x20B210DE\nsubsystem_id = 0x147F10DE\n"
    "cores = 6912\nfans = 0\nfan = unsupported\nmig = 0\ngpm = 0\naccounting = 0\nbus_width = 5120\n"
    "links = 12\nlink.version = 3\nnvlink.speed = 25781\nfabric.state = unsupported\n"
    "memory.total = 80Gi\nmemory.reserved = 500Mi\nbar1.total = 128Gi\nprotected.total = unsupported\nprotected.used = unsupported\n"
    "temperature = 32\ntemperature.memory = 45\nthreshold.shutdown = 92\nthreshold.slowdown = 89\n"
    "threshold.memory_max = 95\nthreshold.gpu_max = 85\n"
    "tlimit.margin = unsupported\ntlimit.shutdown = unsupported\ntlimit.slowdown = unsupported\n"
    "tlimit.memory_max = unsupported\ntlimit.gpu_max = unsupported\n"
    "power = 62\npower.average = unsupported\npower.memory = unsupported\npower.limit = 400\npower.limit.min = 100\npower.limit.max = 400\n"
    "clock.graphics = 1410\nclock.memory = 1593\nclock.video = 1275\n"
    "clock.max.graphics = 1410\nclock.max.memory = 1593\nclock.max.video = 1290\n"
    "pcie.generation = 4\nremapped.banks.max = 640\n";

/* Before Ampere: retired pages, no row remapping, one fan, no memory temperature, no NVLink. */
static const char turing[] =
    "name = Quadro RTX 6000\n"
    "part = 900-5G150-2500-000\nvbios = 90.02.4F.00.01\ninforom = G150.0500.00.02\ngsp.version = unsupported\ngsp.mode = 0\n"
    "compute_capability = 7.5\narchitecture = 6\nbrand = 12\ndevice_id = 0x1E3010DE\nsubsystem_id = 0x12BA10DE\n"
    "cores = 4608\nfans = 1\nfan = 33\nmig = unsupported\nmig.max = 0\ngpm = 0\naccounting = 0\nbus_width = 384\nmodule_id = unsupported\n"
    "links = 0\nfabric.state = unsupported\n"
    "memory.total = 24220Mi\nmemory.reserved = 350Mi\nbar1.total = 256Mi\nprotected.total = unsupported\nprotected.used = unsupported\n"
    "temperature = 41\ntemperature.memory = unsupported\nthreshold.shutdown = 100\nthreshold.slowdown = 97\n"
    "threshold.memory_max = unsupported\nthreshold.gpu_max = 92\n"
    "tlimit.margin = unsupported\ntlimit.shutdown = unsupported\ntlimit.slowdown = unsupported\n"
    "tlimit.memory_max = unsupported\ntlimit.gpu_max = unsupported\n"
    "power = 24\npower.average = unsupported\npower.memory = unsupported\npower.limit = 260\npower.limit.min = 100\npower.limit.max = 260\n"
    "clock.graphics = 300\nclock.memory = 405\nclock.video = 540\n"
    "clock.max.graphics = 2100\nclock.max.memory = 7001\nclock.max.video = 1950\npstate = 8\nreasons = 0x1\n"
    "pcie.generation = 1\npcie.generation.max = 3\n"
    "retired.sbe = 0\nretired.dbe = 0\nretired.pending = 0\n"
    "remapped.corrected = unsupported\nremapped.uncorrected = unsupported\nremapped.pending = unsupported\n"
    "remapped.failure = unsupported\nremapped.corrected.inactive = unsupported\n"
    "remapped.uncorrected.inactive = unsupported\nremapped.banks.max = unsupported\n"
    "sram.volatile.parity = unsupported\nsram.aggregate.parity = unsupported\nrecovery_action = unsupported\n";

/* A desktop board: no ECC, no infoROM, no serial number, two fans, no MIG. */
static const char geforce[] =
    "name = NVIDIA GeForce RTX 4090\n"
    "serial = unsupported\npart = unsupported\nvbios = 95.02.3C.00.8C\ninforom = G002.0000.00.03\ngsp.version = 580.95.05\ngsp.mode = 1\n"
    "compute_capability = 8.9\narchitecture = 8\nbrand = 5\ndevice_id = 0x268410DE\nsubsystem_id = 0x16F410DE\n"
    "cores = 16384\nfans = 2\nfan = 30\nfan.rpm = 900\nmig = unsupported\nmig.max = 0\ngpm = 0\naccounting = 0\nbus_width = 384\nmodule_id = unsupported\n"
    "links = 0\nfabric.state = unsupported\necc = unsupported\npersistence = 0\n"
    "memory.total = 24564Mi\nmemory.reserved = 515Mi\nbar1.total = 32Gi\nprotected.total = unsupported\nprotected.used = unsupported\n"
    "temperature = 38\ntemperature.memory = unsupported\nthreshold.shutdown = unsupported\nthreshold.slowdown = unsupported\n"
    "threshold.memory_max = unsupported\nthreshold.gpu_max = unsupported\n"
    "tlimit.margin = 45\ntlimit.shutdown = -7\ntlimit.slowdown = -2\ntlimit.memory_max = unsupported\ntlimit.gpu_max = 0\n"
    "power = 20\npower.memory = unsupported\npower.limit = 450\npower.limit.min = 150\npower.limit.max = 600\npower.limit.default = 450\n"
    "clock.graphics = 210\nclock.memory = 405\nclock.video = 1185\n"
    "clock.max.graphics = 3105\nclock.max.memory = 10501\nclock.max.video = 2415\npstate = 8\nreasons = 0x1\n"
    "pcie.generation = 1\npcie.generation.max = 4\n"
    "ecc.volatile.corrected = unsupported\necc.volatile.uncorrected = unsupported\n"
    "ecc.aggregate.corrected = unsupported\necc.aggregate.uncorrected = unsupported\n"
    "ecc.volatile.corrected.sram = unsupported\necc.volatile.uncorrected.sram = unsupported\n"
    "ecc.aggregate.corrected.sram = unsupported\necc.aggregate.uncorrected.sram = unsupported\n"
    "sram.volatile.parity = unsupported\nsram.aggregate.parity = unsupported\n"
    "remapped.corrected = unsupported\nremapped.uncorrected = unsupported\nremapped.pending = unsupported\n"
    "remapped.failure = unsupported\nremapped.corrected.inactive = unsupported\n"
    "remapped.uncorrected.inactive = unsupported\nremapped.banks.max = unsupported\n";

/* Differences from the H100. */
static const char gh200[] =
    "name = NVIDIA GH200 480GB\ndevice_id = 0x234210DE\nsubsystem_id = 0x16EB10DE\n"
    "c2c = 1\naddressing = 2\nnuma_node = 1\nlinks = 0\nfabric.state = unsupported\n"
    "memory.total = 97871Mi\npower = 85\npower.module = 160\npower.limit = 900\npower.limit.max = 900\npower.module.limit = 1000\n";

/* A system on a chip, whose GPU has no memory of its own. */
static const char gb10[] =
    "name = NVIDIA GB10\ndevice_id = 0x2E1210DE\narchitecture = 10\ncompute_capability = 12.1\n"
    "addressing = 2\nlinks = 0\nfabric.state = unsupported\nmig = unsupported\nmig.max = 0\ngpm = 0\nmodule_id = unsupported\n"
    "memory.total = unsupported\nmemory.reserved = unsupported\nmemory.used = unsupported\n"
    "bar1.total = unsupported\nbar1.used = unsupported\nprotected.total = unsupported\nprotected.used = unsupported\n"
    "temperature.memory = unsupported\nthreshold.memory_max = unsupported\ntlimit.memory_max = unsupported\n"
    "power = 5\npower.memory = unsupported\npower.limit = unsupported\npower.limit.min = unsupported\npower.limit.max = unsupported\n"
    "clock.memory = unsupported\nclock.max.memory = unsupported\necc = unsupported\n"
    "ecc.volatile.corrected = unsupported\necc.volatile.uncorrected = unsupported\n"
    "ecc.aggregate.corrected = unsupported\necc.aggregate.uncorrected = unsupported\n"
    "ecc.volatile.corrected.sram = unsupported\necc.volatile.uncorrected.sram = unsupported\n"
    "ecc.aggregate.corrected.sram = unsupported\necc.aggregate.uncorrected.sram = unsupported\n"
    "sram.volatile.parity = unsupported\nsram.aggregate.parity = unsupported\n"
    "remapped.corrected = unsupported\nremapped.uncorrected = unsupported\nremapped.pending = unsupported\n"
    "remapped.failure = unsupported\nremapped.corrected.inactive = unsupported\n"
    "remapped.uncorrected.inactive = unsupported\nremapped.banks.max = unsupported\n";

/* Differences from the H100: NVLink 5. */
static const char b200[] =
    "name = NVIDIA B200\npart = 692-2G525-0225-000\ndevice_id = 0x290110DE\nsubsystem_id = 0x199910DE\n"
    "architecture = 10\ncompute_capability = 10.0\nmemory.total = 183359Mi\nlink.version = 5\nnvlink.speed = 53125\n"
    "power = 140\npower.limit = 1000\npower.limit.max = 1000\nclock.graphics = 1965\nclock.max.graphics = 1965\n"
    "clock.memory = 3996\nclock.max.memory = 3996\nrepair.channel = 0\nrepair.tpc = 0\nunrepairable_memory = 0\n";

/* A real H200 with driver 580.159.04, passed through into a virtual machine, so that it has no NVLink: testdata/recordings. Differences from the H100. */
static const char h200[] =
    "name = NVIDIA H200\npart = 692-2G520-0282-000\nvbios = 96.00.A5.00.1A\ninforom = G520.0282.02.02\ngsp.version = 580.159.04\n"
    "device_id = 0x233510DE\nsubsystem_id = 0x18BF10DE\nbus_width = 6144\nmodule_id = 5\nnuma_node = unsupported\n"
    "c2c = 0\nlinks = 0\nfabric.state = 0\nvirtualization = 1\n"
    "memory.total = 150754820096\nmemory.reserved = 644939776\nbar1.total = 256Gi\nbar1.used = 1Mi\n"
    "temperature = 33\ntemperature.memory = 34\nthreshold.slowdown = 89\ntlimit.margin = 54\n"
    "power = 82.291\npower.average = 81.559\npower.memory = 39.74\n"
    "clock.graphics = 345\nclock.memory = 3201\nclock.video = 765\nclock.max.memory = 3201\nreasons = 1\n"
    "remapped.banks.max = 3072\nrepair.channel = 0\nrepair.tpc = 0\nunrepairable_memory = 0\nsample.period = 0.2\nsample.count = 71\n"
    "field.11 = unsupported\nfield.12 = unsupported\nfield.22 = unsupported\nfield.23 = unsupported\n"
    "field.29 = unsupported\nfield.30 = unsupported\nfield.31 = unsupported\nfield.91 = unsupported\n"
    "field.92 = unsupported\nfield.93 = unsupported\nfield.170 = unsupported\nfield.184 = 1\nfield.199 = 1\n"
    "field.274 = error(INVALID_ARGUMENT)\nfield.289 = error(INVALID_ARGUMENT)\n";

const char *board_text(const char *name)
{
    static const struct {
        const char *name, *text;
    } boards[] = {{"h100", h100},       {"a100", a100},   {"turing", turing}, {"geforce", geforce},
                  {"gh200", gh200},     {"gb10", gb10},   {"b200", b200},     {"h200", h200}};
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (!strcmp(boards[i].name, name)) return boards[i].text;
    return NULL;
}
