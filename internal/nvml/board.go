// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"sync/atomic"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// reading is what one read of a board yields: the GPU first, then its MIG instances.
type reading struct {
	devices   []gpu.Device
	processes []gpu.Process
	problems  []gpu.Problem
}

func (r *reading) clear() {
	r.devices = r.devices[:0]
	r.processes = r.processes[:0]
	r.problems = r.problems[:0]
}

// device adds a device. What it held at an earlier read is reused, so that its lists need not grow again.
func (r *reading) device(ident *identity) *gpu.Device {
	if n := len(r.devices); n < cap(r.devices) {
		r.devices = r.devices[:n+1]
	} else {
		r.devices = append(r.devices, gpu.Device{})
	}
	d := &r.devices[len(r.devices)-1]
	*d = gpu.Device{
		Faults:       d.Faults[:0],
		Fans:         d.Fans[:0],
		Errors:       d.Errors[:0],
		Interconnect: gpu.Interconnect{Links: d.Interconnect.Links[:0]},
	}
	ident.describe(d)
	return d
}

// board is one physical GPU, found again by its UUID whatever happens to the driver. All but its identities belongs to
// whichever goroutine reads it: there is one at a time, and it may stay away for ever.
type board struct {
	src    *source
	lib    *library
	uuid   string
	slot   *slot  // that found it last; nil: it let go of it; belongs to the source, and boardsMu protects it
	epoch  uint64 // another one each time that the board was renewed; belongs to the source, as does what the next line holds
	last   code   // why it could not be read the last time; codeOK: it was
	ident  atomic.Pointer[identity]
	family atomic.Pointer[[]*identity] // its MIG instances when it was last read
	anew   atomic.Bool                 // the driver's counters have started anew since the last read

	renewed bool // since it was last in a node as it was read

	unknownAction gpu.Opt[int64] // that the driver asks for to get the GPU back to work, told as a problem

	caller
	at      time.Time // of the present read
	horizon uint64    // at that time
	plan    []function

	fields     fieldSet
	static     static
	samples    [numEngines]mean
	used       []usage
	ring       uint64 // microseconds that the driver's samples cover, as far as seen
	usages     usages
	roster     roster
	traffic    traffic
	gpm        gpm
	gpmRequest gpmRequest
	mig        bool // MIG mode is on
	migTold    bool // and this was found out, not taken for granted
	migs       []*instance
	places     [mostInstances]trouble // with the instance of an index
	readings   [2]reading
	shown      int // which of the readings the last node has
}

// static is what does not change while the driver stays.
type static struct {
	limits     [gpu.NumSensors][gpu.NumLimits]gpu.Opt[float64]
	maxClocks  [gpu.NumClockDomains]gpu.Opt[float64]
	reasons    gpu.Opt[uint64]
	fans       gpu.Opt[int]
	generation gpu.Opt[int64]
	width      gpu.Opt[int64]
	migs       gpu.Opt[int]
}

func newBoard(src *source, lib *library, uuid string) *board {
	b := &board{src: src, lib: lib, uuid: uuid, renewed: true}
	b.has = &lib.has
	b.batch = &callBatch{direct: &lib.direct}
	b.fields = newFieldSet(&b.calls, src.want, "")
	b.gpm = gpm{calls: &b.calls, direct: &lib.direct, request: &b.gpmRequest}
	return b
}

// forget drops what was learnt of driver and partitioning.
func (b *board) forget() {
	b.places = [mostInstances]trouble{}
	b.reset()
	b.unlearn()
}

// repartitioned drops what was learnt of the GPU under another partitioning. What keeps us from seeing how it is partitioned
// stays: it was met on the way.
func (b *board) repartitioned() {
	b.reset(fnMIGMode, fnMIGMax, fnMIGHandle)
	b.unlearn()
}

func (b *board) unlearn() {
	clear(b.ahead[:])
	b.fields = newFieldSet(&b.calls, b.src.want, b.ident.Load().info.DriverVersion)
	b.static = static{}
	b.unknownAction = gpu.Opt[int64]{}
	b.gpm.drop()
}

// renew drops all that does not outlive the driver: besides what was learnt of it, where its counters and its clock stood and
// which answers were forecast, for the calls say since when samples are wanted.
func (b *board) renew() {
	b.renewed = true
	b.forget()
	b.traffic.renew()
	b.samples = [numEngines]mean{}
	b.usages = usages{}
	clear(b.wanted[:])
	for _, inst := range b.migs {
		inst.reset()
	}
}

// steps are what a read of a GPU consists of. Each leaves what it does not get absent; a device that is gone ends them.
var steps = [...]struct {
	group gpu.Group
	read  func(*board, *gpu.Device)
}{
	{gpu.GroupAll, (*board).readFields},
	{gpu.GroupMemory, (*board).readMemory},
	{gpu.GroupProtectedMemory, (*board).readProtectedMemory},
	{gpu.GroupUtilization, (*board).readUtilization},
	{gpu.GroupMediaUtilization, (*board).readMediaUtilization},
	{gpu.GroupTemperature, (*board).readTemperature},
	{gpu.GroupTemperatureLimits, (*board).readTemperatureLimits},
	{gpu.GroupPower | gpu.GroupPowerDetail, (*board).readPower},
	{gpu.GroupPowerLimit, (*board).readPowerLimit},
	{gpu.GroupEnergy, (*board).readEnergy},
	{gpu.GroupClocks, (*board).readClocks},
	{gpu.GroupClockLimits, (*board).readClockLimits},
	{gpu.GroupThrottle, (*board).readThrottle},
	{gpu.GroupThrottleTime, (*board).readThrottleTime},
	{gpu.GroupPerformanceState, (*board).readPerformanceState},
	{gpu.GroupFans, (*board).readFans},
	{gpu.GroupPipes | gpu.GroupPCIeIO, (*board).readGPM},
	{gpu.GroupPCIeIO, (*board).readPCIeIO}, // of what GPM has just told
	{gpu.GroupPCIeLink, (*board).readPCIeLink},
	{gpu.GroupPCIeReplay, (*board).readPCIeReplay},
	{linkGroups, (*board).readInterconnect},
	{gpu.GroupECC | gpu.GroupECCLifetime, (*board).readECC},
	{gpu.GroupRemappedRows, (*board).readRemappedRows},
	{gpu.GroupRecovery, (*board).readRecovery},
	{gpu.GroupProcesses | gpu.GroupProcessUtilization, (*board).readProcesses},
}

// read reads the GPU and its instances into the reading that no node has.
func (b *board) read(at time.Time) *reading {
	out := &b.readings[1-b.shown]
	out.clear()
	b.at, b.horizon = at, horizon(at)
	if b.anew.Swap(false) {
		b.renew()
	}
	b.begin()
	b.identifyFurther()
	b.fields.begin()
	b.callAhead()
	b.readPartitioning()
	d := out.device(b.ident.Load())
	d.ProcessesUnread = !b.mig // until they are; with MIG on the instances have them
	for _, step := range steps {
		if b.fatal != codeOK {
			break
		}
		if b.src.want.Has(step.group) {
			step.read(b, d)
		}
	}
	if b.fatal == codeOK {
		out.processes = b.appendProcesses(out.processes, d.ID)
		b.readInstances(out)
	}
	out.problems = append(out.problems, b.problems...)
	return out
}
