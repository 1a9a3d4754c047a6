// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import "github.com/otelgpu/gpureceiver/internal/gpu"

// reader reads what the metrics of a group need. It leaves absent what it does not get.
type reader struct {
	group gpu.Group
	read  func(*device, *gpu.Device)
}

// quantities are the readers that remember something from read to read.
type quantities struct {
	throttle    throttle
	gpm         gpm
	utilization utilization
	pcieTraffic pcieTraffic
	processes   processes
	samples     processSamples
	infoROM     infoROM
}

// common are readings that every board has, in addition to its memory.
const common = gpu.GroupTemperature | gpu.GroupClocks | gpu.GroupUtilization

// readings are what a read of a GPU begins with, in order.
func (q *quantities) readings() []reader {
	return []reader{
		{gpu.GroupAll, readFieldValues},
		{gpu.GroupAll, readRows(gpu.GroupAll &^ gpu.GroupModes)},
		{gpu.GroupTemperature | gpu.GroupClocks, dropZerosOfGuests}, // after the quantities
		{gpu.GroupMemory, readMemory},
		{gpu.GroupProtectedMemory, readProtectedMemory},
		{gpu.GroupUtilization, q.utilization.readGeneral},
		{gpu.GroupTemperatureLimits, readMargins}, // after the field values
		{gpu.GroupThrottle, q.throttle.read},
		{gpu.GroupFans, readFans},
		{gpu.GroupFanSpeed, readFanRevolutions}, // after the fans
		{gpu.GroupPipes | gpu.GroupPCIeIO, q.readGPM},
		{gpu.GroupPCIeIO, q.pcieTraffic.read}, // after GPM
		{gpu.GroupBAR1, readBAR1},
		{linkGroups, readNVLink},
		{gpu.GroupFabric, readFabric},
		{gpu.GroupECCMemory | gpu.GroupECCLocations, readSRAM},
		{gpu.GroupRemappedRows, readRemappedRows},
		{gpu.GroupRemappedRows, readRepairs},
		{gpu.GroupMemoryBanks, readMemoryBanks},
		{gpu.GroupRecovery, readRecovery},
	}
}

// states are what follows. The driver may know it without the GPU.
func (q *quantities) states() []reader {
	return []reader{
		{gpu.GroupAll, q.infoROM.validate},
		{gpu.GroupModes, readRows(gpu.GroupModes)},
		{gpu.GroupModes, readResetModes},
		{gpu.GroupPendingModes, readPendingModes},
		{gpu.GroupVGPULicense, readVGPULicense},
		{gpu.GroupEncoderSessions, readEncoderSessions},
		{gpu.GroupFrameBufferCapture, readFrameBufferCapture},
		{gpu.GroupProcesses | gpu.GroupProcessUtilization, q.readProcesses}, // after the utilization
		{gpu.GroupMediaUtilization, q.readMedia},                            // after the sessions and the processes
	}
}

// readGPM samples the GPU for the pipes and for the PCIe traffic.
func (q *quantities) readGPM(dev *device, d *gpu.Device) {
	q.gpm.span = 0
	pipes, pcie := dev.cfg.Want.Has(gpu.GroupPipes), q.pcieTraffic.sampled(dev.cfg)
	if pipes || pcie {
		q.gpm.read(dev, pcie)
	}
	if pipes {
		q.gpm.readPipes(d)
	}
}

// readProcesses reads the processes of the GPU and how much each used since the last read. With MIG on the instances have the processes,
// and the driver does not report what they use.
func (q *quantities) readProcesses(dev *device, d *gpu.Device) {
	q.processes.merged.clear()
	if dev.mig {
		return
	}
	d.ProcessesUnread = !q.fetchProcesses(dev)
}

// fetchProcesses reads the processes and the samples of what they used. Without a process there are no samples worth a call, which takes a driver
// more than a millisecond. all: it read all processes.
func (q *quantities) fetchProcesses(dev *device) (all bool) {
	all = q.processes.read(dev)
	switch {
	case !dev.cfg.Want.Has(gpu.GroupProcessUtilization):
	case all && len(q.processes.merged.all) == 0:
		q.samples.usage.calls++ // a process that begins later was idle
	default:
		q.samples.fetch(dev, q.utilization.clock())
	}
	return all
}

// readMedia reads the utilization of the engines for video and pictures.
func (q *quantities) readMedia(dev *device, d *gpu.Device) {
	if !dev.cfg.Want.Has(gpu.GroupUtilization) {
		q.utilization.fetchGeneral(dev)
		q.utilization.means[engineGeneral].take()
	}
	q.utilization.readMedia(dev, d, q.engineUse())
}

// engineUse returns which engines for video some process used since the last read.
func (q *quantities) engineUse() (u engineUse) {
	u.encoder, u.decoder = q.samples.usage.mediaUsed()
	return u
}

// listedProcesses returns what readProcesses found. It ends the window of their utilization.
func (q *quantities) listedProcesses(dev *device, id string) []gpu.Process {
	processes := q.processes.list(id)
	q.samples.set(dev, q.utilization.clock(), processes)
	return processes
}

// fetchSamples fetches samples between two reads, before the driver overwrites them.
func (q *quantities) fetchSamples(dev *device) {
	if dev.cfg.Want.Has(gpu.GroupUtilization | gpu.GroupMediaUtilization) {
		q.utilization.fetchGeneral(dev)
	}
	if dev.cfg.Want.Has(gpu.GroupProcessUtilization) && !dev.mig {
		q.fetchProcesses(dev)
	}
	if !dev.cfg.Want.Has(gpu.GroupMediaUtilization) {
		return
	}
	for e := engineEncoder; e < numEngines; e++ {
		q.utilization.fetchUsed(dev, e, q.engineUse().uses(e))
	}
}

// reset forgets what was learnt of the GPU under another driver or partitioning.
func (q *quantities) reset() {
	q.throttle = throttle{}
	q.gpm.drop()
}

// restart forgets the values of the driver's counters and the time of its clock.
func (q *quantities) restart() {
	q.pcieTraffic.restart()
	q.utilization.restart()
	q.samples.restart()
}
