// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"sync/atomic"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// Result is what one read of a GPU yields: the GPU first, then its MIG instances.
type Result struct {
	Devices   []gpu.Device
	Processes []gpu.Process
	Problems  []gpu.Problem
	Idle      bool // the kernel may suspend the GPU, and nothing but NVML keeps it awake
}

// GPU is one physical GPU.
//
// One goroutine at a time may call its methods. Identity, Instances and CountersRestarted may be called at any time.
type GPU struct {
	device
	uuid           string
	identity       atomic.Pointer[Identity]
	identification identification
	restarted      atomic.Bool // the driver's counters have started again since the last read
	happened       atomic.Bool // there was an event or an error since the last read
	newEpoch       bool        // and this was not reported yet

	quantities quantities
	readings   []reader
	states     []reader
	partitions partitions
}

// New returns a GPU by its UUID. Open asks what else it is.
func New(lib *library.Library, cfg *Config, uuid string) *GPU {
	g := &GPU{device: newDevice(lib, cfg, uuid), uuid: uuid, newEpoch: true}
	g.fields = newFieldValues(&g.Calls, cfg.Want, "")
	g.quantities.pcieTraffic.gpm = &g.quantities.gpm
	g.readings, g.states = g.quantities.readings(), g.quantities.states()
	g.identification.queries = gpuQueries[:]
	return g
}

// UUID returns the UUID.
func (g *GPU) UUID() string { return g.uuid }

// Identity returns what the GPU is; nil: not known yet.
func (g *GPU) Identity() *Identity { return g.identity.Load() }

// Instances returns what the MIG instances are that the last read found.
func (g *GPU) Instances() []*Identity {
	if all := g.partitions.identities.Load(); all != nil {
		return *all
	}
	return nil
}

// CountersRestarted notes that the driver's counters have started again, because the GPU was away.
func (g *GPU) CountersRestarted() { g.restarted.Store(true) }

// TakeNewEpoch reports whether counters of the last read do not continue the counters of the reads before.
func (g *GPU) TakeNewEpoch() bool {
	newEpoch := g.newEpoch
	g.newEpoch = false
	return newEpoch
}

// Happened notes an event, after which what seldom changes may have changed.
func (g *GPU) Happened() { g.happened.Store(true) }

// Renumber changes the index.
func (g *GPU) Renumber(index int) {
	identity := *g.identity.Load()
	identity.Index = gpu.Some(index)
	g.identity.Store(&identity)
}

// SampleRing returns how much time the driver's samples cover; 0: not known.
func (g *GPU) SampleRing() time.Duration {
	return time.Duration(g.quantities.utilization.ring) * time.Microsecond
}

// Open takes the GPU's handle in a session, and queries the identity of the GPU if it is unknown or the driver is another one. The GPU
// keeps the index under which it was first seen. driver is the driver's version; empty if it is not known yet.
func (g *GPU) Open(handle library.Device, index int, driver string) library.Code {
	g.handle, g.Fatal = handle, library.OK
	g.cache.drop()
	identity := g.identity.Load()
	if identity != nil && (driver == "" || identity.Info.DriverVersion == driver) {
		return library.OK
	}
	if identity != nil {
		g.restart()
	}
	code := g.identify(index, driver)
	if code != library.OK {
		g.handle = library.Device{}
	}
	return code
}

// HandleUUID returns the UUID of the current GPU of the handle: a hypervisor may have replaced the GPU.
func (g *GPU) HandleUUID() (string, library.Code) { return g.handle.UUID() }

// Close gives back what the GPU holds of a session.
func (g *GPU) Close() {
	g.quantities.gpm.free()
	g.partitions.free()
	g.leavePeers()
	g.handle = library.Device{}
}

// DropInstances forgets the instances: they were found by a handle that is another GPU's.
func (g *GPU) DropInstances() {
	g.partitions.keep(nil)
	g.leavePeers()
}

func (g *GPU) leavePeers() {
	if g.cfg.Peers != nil {
		g.cfg.Peers.Drop(g.uuid)
	}
}

// Read reads the GPU and its instances. The code is why it could not be read.
func (g *GPU) Read(now time.Time) (*Result, library.Code) {
	if g.restarted.Swap(false) {
		g.restart()
	}
	g.begin(now)
	g.cache.begin(now, g.cfg.Interval, g.happened.Swap(false))
	g.identifyFurther()
	out, code := g.readAll()
	if g.Changed() && code == library.OK && !g.cache.renewed(now) {
		g.Happened()
		if _, off := g.cache.values[migMode]; off && g.enabledMIG() {
			return g.readAll() // the driver refuses some readings of a GPU with MIG on
		}
	}
	return out, code
}

// readAll reads the GPU and its instances.
func (g *GPU) readAll() (*Result, library.Code) {
	g.fields.begin(g.cache.renewed(g.readTime))
	g.readPartitions()
	g.ForgetAnswers() // the partitioning is no reading: the driver knows it without the GPU
	if !remapsRows(g.identity.Load().Info.ComputeCapability) {
		g.fields.dropRows()
	}
	d := g.identity.Load().Device()
	d.ProcessesUnread = !g.mig // with MIG on the instances have the processes
	g.read(g.readings, &d)
	silent := !g.Answered()
	g.read(g.states, &d)
	if g.quantities.infoROM.corrupt || g.CorruptInfoROM() {
		d.AddFault(gpu.FaultInfoROM, gpu.CorruptInfoROM)
	}
	g.rememberFabric(&d.Info)
	if g.cfg.Peers != nil && g.Fatal == library.OK {
		g.readPeers(&d)
	}
	out := &Result{Devices: []gpu.Device{d}}
	if g.Fatal == library.OK {
		out.Processes = g.quantities.listedProcesses(&g.device, d.ID)
		g.readInstances(out)
	}
	if g.Fatal == library.OK {
		out.Idle = g.idle(out)
	}
	out.Problems = append(out.Problems, g.Problems()...)
	if g.Fatal == library.OK {
		g.Fatal = g.unreachable(silent)
		if g.Fatal.Answer() == library.Denied {
			g.forget() // what is refused is not asked again otherwise
		}
	}
	if g.cfg.Peers != nil {
		g.becomePeer()
	}
	return out, g.Fatal
}

func (g *GPU) read(readers []reader, d *gpu.Device) {
	for _, r := range readers {
		if g.Fatal == library.OK && g.cfg.Want.Has(r.group) {
			r.read(&g.device, d)
		}
	}
}

// unreachable returns why nothing of the GPU could be read although the driver has it; OK: something was read. silent: no reading was answered.
// A GPU on a PCI bus has at least the size of its memory, unless it is a part of a processor.
func (g *GPU) unreachable(silent bool) library.Code {
	for _, i := range g.partitions.instances {
		if i.Answered() {
			return library.OK
		}
	}
	code := g.Unreachable()
	if d := g.identity.Load().Device(); code == library.OK && silent && g.Refused(memoryInfo) && g.cfg.Want.Has(common) && !d.Integrated() {
		return library.NoReading
	}
	return code
}

// FetchSamples fetches the driver's samples between two reads.
func (g *GPU) FetchSamples(now time.Time) {
	g.begin(now)
	g.quantities.fetchSamples(&g.device)
}

// enabledMIG asks whether MIG is on, which it was not.
func (g *GPU) enabledMIG() bool {
	delete(g.cache.values, migMode)
	return g.partitions.enabled(&g.device)
}

func (g *GPU) readInstances(out *Result) {
	for _, i := range g.partitions.instances {
		i.begin(g.readTime)
		if !i.unread {
			g.partitions.identify(i, g.identity.Load())
		}
		d, processes := i.read()
		if i.Fatal != library.OK {
			g.Fatal = i.Fatal
			return
		}
		out.Devices = append(out.Devices, d)
		out.Processes = append(out.Processes, processes...)
		out.Problems = append(out.Problems, i.Problems()...)
	}
}

// readPartitions follows changes of the partitioning.
func (g *GPU) readPartitions() {
	mig := g.partitions.enabled(&g.device)
	if g.Fatal != library.OK {
		return
	}
	if mig != g.mig {
		g.forget()
		g.mig = mig
	}
	if !mig {
		g.partitions.keep(nil)
		return
	}
	if g.partitions.list(&g.device, g.identity.Load()) {
		// What the GPU can report depends on which instances exist. What keeps us from seeing them stays: it was met on the way.
		g.Reset(migMode, migMax, library.MIGHandle)
		g.reset()
	}
}

// restart forgets all that does not outlive the driver.
func (g *GPU) restart() {
	g.newEpoch = true
	g.forget()
	g.quantities.restart()
	for _, i := range g.partitions.instances {
		i.Reset()
	}
}

// forget forgets what was learnt of the driver and the partitioning.
func (g *GPU) forget() {
	g.partitions.retries = [maxInstances]library.Retry{}
	g.Reset()
	g.reset()
}

func (g *GPU) reset() {
	g.fields = newFieldValues(&g.Calls, g.cfg.Want, g.identity.Load().Info.DriverVersion)
	g.constants = map[*library.Function]library.Value{}
	g.cache.drop()
	g.partitions.limit = gpu.Opt[int]{}
	g.quantities.reset()
}
