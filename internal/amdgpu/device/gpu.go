// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package device reads one AMD GPU, and its partitions, from the files of the amdgpu driver.
package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// minInvalid is how many files of a GPU that has never answered must be an invalid argument, or not supported, for the GPU to be
// unreachable. By these answers the driver says of up to three quantities that a GPU does not have them. A GPU has five or more files of
// sensors and use.
const minInvalid = 4

// common are readings that every GPU has, in addition to its memory.
const common = gpu.GroupTemperature | gpu.GroupClocks | gpu.GroupUtilization

// GPU reads one GPU. Only one read may run at a time.
type GPU struct {
	cfg   Config
	epoch uint64

	// dirInfo is the directory of the DRM device as it was at the last read; nil if there was no directory. The driver creates another one
	// when it is loaded again. Then the counters start again, and the rest of the GPU is forgotten.
	dirInfo  fs.FileInfo
	identity identity
	profile  string              // partition mode: SPX, CPX; empty if the GPU has no mode or it was not read
	memory   string              // partition mode of the memory: NPS1; likewise. It does not change while the driver keeps the GPU
	revision gpumetrics.Revision // of the last table
	energy   energyCounter
	xgmi     xgmiLinks
	throttle throttleTimes
	badPages badPages
	counted  partitionCount
	names    map[int]string // of the partitions, as they were last seen
	answered bool           // at some read: a file for which the driver asks the GPU could be read
}

// New returns a GPU that was not read yet.
func New(cfg Config) *GPU { return &GPU{cfg: cfg, epoch: cfg.Epoch} }

// Read reads the GPU.
func (g *GPU) Read(input Input) Result {
	r := &reader{readFile: input.ReadFile, dir: input.Card.Dir, title: input.Card.Address}
	var result Result
	switch err := g.find(input.Card.Device); {
	case err == nil:
		g.read(r, input, &result)
	case errors.Is(err, fs.ErrPermission):
		g.describe(&result.Device, input)
		result.Denied = readError(r.title, input.Card.Device, sysfs.Errno(err))
		r.problem("identity", result.Denied)
	default:
		result.Gone = true
	}
	result.Problems, result.FileLimit = r.problems, r.fileLimit
	return result
}

// find returns an error if the driver does not have the card. It forgets the GPU if the driver has created it again.
func (g *GPU) find(device string) error {
	now, err := os.Stat(device)
	if err != nil {
		return err
	}
	if g.dirInfo == nil || !os.SameFile(g.dirInfo, now) {
		if g.dirInfo != nil || g.epoch > 0 {
			g.epoch++
		}
		*g = GPU{cfg: g.cfg, epoch: g.epoch, dirInfo: now, names: g.names}
	}
	return nil
}

func (g *GPU) read(r *reader, input Input, result *Result) {
	power := readPowerState(r)
	asleep := !g.cfg.Wake && power == suspended
	g.identity.read(r, g.cfg.Want, &input)
	if !asleep { // the driver asks the GPU for its modes
		if profile, ok := readProfile(r); ok {
			g.profile = profile
		}
		if g.memory == "" {
			g.memory = readMemoryMode(r)
		}
	}
	d := &result.Device
	g.describe(d, input)
	var table gpumetrics.Table
	if asleep {
		g.energy.doubt() // without power its counter starts from 0
		d.Memory.Limit = g.identity.memory
		result.Partitions = g.readPartitions(r, input, &table, d, g.cfg.Want&^(gpu.GroupUtilization|gpu.GroupMediaUtilization))
		r.problem("asleep", fmt.Errorf("amdgpu: %s: %w", r.title, errAsleep))
	} else {
		readProblems := len(r.problems)
		var answered bool
		if table, answered = readTable(r, g.cfg, g.revision); !answered {
			g.energy.doubt() // the driver refuses the table while it resets the GPU
		}
		if table.Revision != (gpumetrics.Revision{}) {
			g.revision = table.Revision
		}
		g.readQuantities(r, input, &table, d)
		result.Partitions = g.readPartitions(r, input, &table, d, g.cfg.Want)
		g.judge(r, result, power, readProblems)
	}
	if len(result.Partitions) > 0 {
		d.Aliases = nil // these are the names of the first partition
	}
	result.APU = g.revision.APU()
}

// readPartitions reads those quantities of the partitions that are wanted.
func (g *GPU) readPartitions(r *reader, input Input, table *gpumetrics.Table, whole *gpu.Device, want gpu.Group) []gpu.Device {
	cfg := g.cfg
	cfg.Want = want
	partitions := readPartitions(r, cfg, input, whole, g.counted.count(g.profile, input.Nodes, table), table)
	g.keepNames(partitions, input.Stale)
	return partitions
}

// describe sets what is known of the GPU without reading it.
func (g *GPU) describe(d *gpu.Device, input Input) {
	*d = g.identity.describe(input)
	d.Epoch = g.epoch
	d.Info.Profile, d.Info.MemoryPartition = g.profile, g.memory
}

// readQuantities reads the quantities that are wanted.
func (g *GPU) readQuantities(r *reader, input Input, table *gpumetrics.Table, d *gpu.Device) {
	want := g.cfg.Want
	var s sensors
	if want.Has(sensorGroups) {
		s = findSensors(r)
	}
	if want.Has(gpu.GroupUtilization | gpu.GroupMediaUtilization | gpu.GroupXCCUtilization) {
		readUtilization(r, want, table, g.identity.device, d)
	}
	if want.Has(gpu.GroupMemory) {
		readMemory(r, g.identity.memory, input.Nodes, g.counted.count(g.profile, input.Nodes, table), d)
	}
	if want.Has(gpu.GroupTemperature | gpu.GroupTemperatureLimits) {
		readTemperatures(r, want, s, table, d)
	}
	if want.Has(gpu.GroupTemperatureDetail) {
		d.TemperatureDetail = table.Details
	}
	if want.Has(gpu.GroupVoltage) {
		readVoltages(r, s, table, d)
	}
	readPower(r, want, s, table, g.revision.APU(), d)
	if want.Has(gpu.GroupEnergy) {
		d.Energy = g.energy.read(r, s, table, d, input.Now)
	}
	readClocks(r, want, s, table, d)
	if want.Has(gpu.GroupThrottle | gpu.GroupThrottleTime) {
		setThrottleStatus(d, table.Throttle)
		dropContradicted(r, s, table, d)
		g.throttle.read(d, table, input.Now)
	}
	if want.Has(gpu.GroupFans | gpu.GroupFanSpeed) {
		readFan(r, want, s, d)
	}
	readPCIe(r, want, table, d)
	if want.Has(xgmiGroups) {
		g.xgmi.set(want, table, d)
	}
	if want.Has(gpu.GroupECC) {
		readErrorCounts(r, d)
	}
	if want.Has(gpu.GroupRemappedRows) {
		g.badPages.read(r, g.cfg.Root, input.Card.Name, d)
	}
}

// judge adds a fault if the GPU did not answer: if no file could be read for which the driver queries the GPU. The problems from
// readProblems on are about its quantities.
func (g *GPU) judge(r *reader, result *Result, power powerState, readProblems int) {
	d := &result.Device
	switch {
	case r.answered > 0:
		g.answered = true
	case power == broken:
		d.AddFault(gpu.FaultUnreachable, "the kernel could not wake it up (runtime power management); see the kernel's log")
	case r.failed == 0 && r.invalid == 0 && g.cfg.Want.Has(common) && g.cfg.Want.Has(gpu.GroupMemory) &&
		!d.Memory.Usage.Known() && !d.Memory.SystemUsage.Known():
		d.AddFault(gpu.FaultUnreachable, "the driver lists it, but reports no values, not even for its memory")
	case r.failed == 0 && (r.invalid == 0 || !g.answered && r.invalid < minInvalid):
		// It does not have the wanted quantities.
	case readPowerState(r) == suspended:
		g.energy.doubt()
		r.problems = r.problems[:readProblems]
		r.problem("asleep", fmt.Errorf("amdgpu: %s: %w", r.title, errRefuses))
	case r.denied > 0 && r.denied == r.failed: // which says nothing of the GPU
		result.Denied = r.lastErr
	default:
		d.AddFault(gpu.FaultUnreachable, "none of its values can be read: "+r.lastErr.Error())
	}
}
