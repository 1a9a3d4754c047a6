// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// metricTest is what the tests know of one metric of a node, written down independently of the tables of the recorder.
type metricTest struct {
	name       string
	needs      gpu.Group // what a source reads for it
	kind, unit string
	remove     func(*gpu.Node) // makes the values of the metric absent
	samples    []sample        // points of fullNode, calculated by hand
}

// sample is one point: attributes that no other point of the metric has, and its value in the unit of the metric.
type sample struct {
	attributes map[string]any
	value      float64
}

// metricTests is the table of all metrics of a node, sorted by name.
var metricTests = []metricTest{
	{"container.gpu.allocated", gpu.GroupProcesses, "updowncounter", "{gpu}", onUses(func(u *gpu.ContainerUse) { u.Allocated = gpu.Opt[bool]{} }), []sample{{attrs("hw.id", gpuID, "k8s.pod.name", "train-0", "hw.gpu.sharing", "mps", "hw.gpu.allocator", "dra"), 1}}},
	{"container.gpu.energy", gpu.GroupUtilization | gpu.GroupEnergy | gpu.GroupProcesses | gpu.GroupProcessUtilization, "counter", "J", onUses(func(u *gpu.ContainerUse) { u.Energy = gpu.Counter[float64]{} }), []sample{{attrs("hw.id", gpuID, "k8s.container.name", "trainer"), 7001.25}}},
	{"container.gpu.idle.time", gpu.GroupUtilization | gpu.GroupProcesses | gpu.GroupProcessUtilization, "counter", "s", onUses(func(u *gpu.ContainerUse) { u.IdleTime = gpu.Counter[float64]{} }), []sample{{attrs("hw.id", gpuID, "k8s.namespace.name", "research"), 12.5}}},
	{"container.gpu.media.utilization", gpu.GroupUtilization | gpu.GroupMediaUtilization | gpu.GroupProcesses | gpu.GroupProcessUtilization, "gauge", "1", onUses(func(u *gpu.ContainerUse) { clear(u.Utilization[gpu.TaskGeneral+1:]) }), []sample{{attrs("hw.id", gpuID, "hw.gpu.task", "decoder"), 0.06}}},
	{"container.gpu.memory.limit", gpu.GroupMemory | gpu.GroupProcesses, "updowncounter", "By", onUses(func(u *gpu.ContainerUse) { u.MemoryLimit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 85899345921}}},
	{"container.gpu.memory.usage", gpu.GroupMemory | gpu.GroupProcesses, "updowncounter", "By", onUses(func(u *gpu.ContainerUse) { u.MemoryUsage = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", migID, "container.id", "cafe02"), 881}}},
	{"container.gpu.power", gpu.GroupUtilization | gpu.GroupPower | gpu.GroupProcesses | gpu.GroupProcessUtilization, "gauge", "W", onUses(func(u *gpu.ContainerUse) { u.Power = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", amdID, "slurm.job.id", "8123"), 71.5}}},
	{"container.gpu.share", gpu.GroupMemory | gpu.GroupProcesses, "gauge", "1", onUses(func(u *gpu.ContainerUse) { u.Share = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID, "k8s.pod.name", "train-0"), 0.375}}},
	{"container.gpu.utilization", gpu.GroupUtilization | gpu.GroupProcesses | gpu.GroupProcessUtilization, "gauge", "1", onUses(func(u *gpu.ContainerUse) { u.Utilization[gpu.TaskGeneral] = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID, "hw.gpu.task", "general"), 0.02}}},
	{"hw.energy", gpu.GroupEnergy, "counter", "J", onDevices(func(d *gpu.Device) { d.Energy = gpu.Counter[float64]{} }), []sample{{attrs("hw.id", gpuID), 123456.789}}},
	{"hw.errors", gpu.GroupECC, "counter", "{error}", onDevices(dropErrors(false)), []sample{
		{attrs("hw.id", gpuID, "error.type", "corrected"), 301},
		{attrs("hw.id", gpuID, "error.type", "uncorrected"), 302},
		{attrs("hw.id", amdID, "error.type", "deferred", "hw.gpu.error.block", "umc"), 423},
	}},
	{"hw.fan.speed_ratio", gpu.GroupFans, "gauge", "1", onDevices(func(d *gpu.Device) {
		for i := range d.Fans {
			d.Fans[i].Ratio = gpu.Opt[float64]{}
		}
	}), []sample{{attrs("hw.id", gpuID, "hw.sensor_location", "fan1"), 0.61}}},
	{"hw.gpu.allocated", 0, "updowncounter", "{gpu}", onDevices(func(d *gpu.Device) { d.HoldersKnown = false }), []sample{{attrs("hw.id", migID), 0}}},
	{"hw.gpu.bar1.memory.limit", gpu.GroupBAR1, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.BAR1Limit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 137438953472}}},
	{"hw.gpu.bar1.memory.usage", gpu.GroupBAR1, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.BAR1Usage = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 1048576}}},
	{"hw.gpu.board.info", 0, "updowncounter", "1", onDevices(func(d *gpu.Device) { d.Info = gpu.Info{} }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.board.part_number", "900-21010-0000-000", "hw.gpu.brand", "nvidia", "hw.gpu.c2c.mode", "disabled", "hw.gpu.fabric.clique", "7"), 1},
	}},
	{"hw.gpu.count", 0, "updowncounter", "{gpu}", func(n *gpu.Node) { clear(n.Presence[:]) }, []sample{{attrs("hw.gpu.presence", "missing", "k8s.node.name", "node-a", "k8s.cluster.name", "prod"), 3}}},
	{"hw.gpu.ecc.lifetime", gpu.GroupECCLifetime, "counter", "{error}", onDevices(dropErrors(true)), []sample{{attrs("hw.id", gpuID, "error.type", "uncorrected"), 307}}},
	{"hw.gpu.ecc.location.errors", gpu.GroupECCLocations, "counter", "{error}", onDevices(func(d *gpu.Device) { d.ECC.Locations = nil }), []sample{
		{attrs("hw.id", gpuID, "error.type", "uncorrected", "hw.gpu.error.location", "dram"), 1000},
		{attrs("hw.id", gpuID, "error.type", "corrected", "hw.gpu.error.location", "sram_other"), 1010},
	}},
	{"hw.gpu.ecc.memory.errors", gpu.GroupECCMemory, "counter", "{error}", onDevices(func(d *gpu.Device) { clear(d.ECC.Memory[:]) }), []sample{
		{attrs("hw.id", gpuID, "error.type", "uncorrected", "hw.gpu.memory.type", "sram"), 501},
		{attrs("hw.id", gpuID, "error.type", "corrected", "hw.gpu.memory.type", "dram"), 510},
	}},
	{"hw.gpu.ecc.sram.threshold_exceeded", gpu.GroupECCMemory, "updowncounter", "1", onDevices(func(d *gpu.Device) { d.ECC.SRAMThresholdExceeded = gpu.Opt[bool]{} }), []sample{{attrs("hw.id", gpuID), 1}}},
	{"hw.gpu.encoder.frame_rate", gpu.GroupEncoderSessions, "gauge", "{frame}/s", onDevices(func(d *gpu.Device) { d.Encoder.FrameRate = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 59.5}}},
	{"hw.gpu.encoder.latency", gpu.GroupEncoderSessions, "gauge", "s", onDevices(func(d *gpu.Device) { d.Encoder.Latency = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 0.0021}}},
	{"hw.gpu.encoder.session.count", gpu.GroupEncoderSessions, "updowncounter", "{session}", onDevices(func(d *gpu.Device) { d.Encoder.Count = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 4}}},
	{"hw.gpu.fabric.condition", gpu.GroupFabric, "updowncounter", "1", onDevices(func(d *gpu.Device) { clear(d.Fabric.Conditions[:]) }), []sample{{attrs("hw.id", gpuID, "hw.gpu.fabric.condition", "route_unhealthy"), 1}}},
	{"hw.gpu.fabric.state", gpu.GroupFabric, "updowncounter", "1", onDevices(func(d *gpu.Device) { d.Fabric.State = gpu.Opt[gpu.FabricState]{} }), []sample{{attrs("hw.id", gpuID, "hw.gpu.fabric.state", "completed"), 1}}},
	{"hw.gpu.fan.speed", gpu.GroupFanSpeed, "gauge", "{revolution}/min", onDevices(func(d *gpu.Device) {
		for i := range d.Fans {
			d.Fans[i].Speed = gpu.Opt[int64]{}
		}
	}), []sample{{attrs("hw.id", gpuID, "hw.sensor_location", "fan1"), 3210}}},
	{"hw.gpu.fault", gpu.GroupRemappedRows | gpu.GroupRecovery | gpu.GroupFabric | gpu.GroupECCMemory, "updowncounter", "1", onDevices(func(d *gpu.Device) { d.Faults = nil }), []sample{{attrs("hw.id", gpuID, "error.type", "drain"), 1}}},
	{"hw.gpu.frame_buffer_capture.frame_rate", gpu.GroupFrameBufferCapture, "gauge", "{frame}/s", onDevices(func(d *gpu.Device) { d.FrameBuffer.FrameRate = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 29.5}}},
	{"hw.gpu.frame_buffer_capture.latency", gpu.GroupFrameBufferCapture, "gauge", "s", onDevices(func(d *gpu.Device) { d.FrameBuffer.Latency = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 0.0031}}},
	{"hw.gpu.frame_buffer_capture.session.count", gpu.GroupFrameBufferCapture, "updowncounter", "{session}", onDevices(func(d *gpu.Device) { d.FrameBuffer.Count = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 5}}},
	{"hw.gpu.info", 0, "updowncounter", "1", func(n *gpu.Node) { n.Devices = nil }, []sample{
		{attrs("hw.id", gpuID, "hw.gpu.index", int64(6), "hw.gpu.numa.node", int64(1), "hw.serial_number", "1650123000001"), 1},
		{attrs("hw.parent", gpuID, "hw.gpu.partition.profile", "3g.40gb"), 1},
	}},
	{"hw.gpu.interconnect.errors", gpu.GroupInterconnectErrors, "counter", "{error}", onDevices(func(d *gpu.Device) { clear(d.Interconnect.Errors[:]) }), []sample{
		{attrs("hw.id", gpuID, "error.type", "crc", "hw.gpu.interconnect.type", "nvlink"), 308},
		{attrs("hw.id", gpuID, "error.type", "ecc", "hw.gpu.interconnect.type", "nvlink"), 311},
	}},
	{"hw.gpu.interconnect.io", gpu.GroupInterconnect, "counter", "By", onDevices(func(d *gpu.Device) { d.Interconnect.Transmitted, d.Interconnect.Received = none, none }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.interconnect.type", "nvlink", "network.io.direction", "receive"), 6000000002},
		{attrs("hw.id", amdID, "hw.gpu.interconnect.type", "xgmi", "network.io.direction", "transmit"), 411},
	}},
	{"hw.gpu.interconnect.link.bandwidth", gpu.GroupInterconnectSpeed, "gauge", "By/s", onLinks(func(l *gpu.Link) { l.Bandwidth = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "11"), 200e9}}},
	{"hw.gpu.interconnect.link.bit_error_ratio", gpu.GroupInterconnectBitErrors, "gauge", "1", onLinks(func(l *gpu.Link) { clear(l.BitErrorRatio[:]) }), []sample{{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "0", "hw.gpu.interconnect.ber", "symbol"), 102e-9}}},
	{"hw.gpu.interconnect.link.count", gpu.GroupInterconnectState, "updowncounter", "{link}", onLinks(func(l *gpu.Link) { l.Up = gpu.Opt[bool]{} }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.interconnect.link_state", "up", "hw.gpu.interconnect.type", "nvlink"), 2},
		{attrs("hw.id", gpuID, "hw.gpu.interconnect.link_state", "down"), 1},
	}},
	{"hw.gpu.interconnect.link.errors", gpu.GroupInterconnectLinks, "counter", "{error}", onLinks(func(l *gpu.Link) { clear(l.Errors[:]) }), []sample{{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "11", "error.type", "recovery"), 205}}},
	{"hw.gpu.interconnect.link.fec.errors", gpu.GroupInterconnectBitErrors, "counter", "{error}", onLinks(func(l *gpu.Link) { clear(l.FEC[:]) }), []sample{{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "11", "hw.gpu.interconnect.fec.bin", int64(15)), 5015}}},
	{"hw.gpu.interconnect.link.io", gpu.GroupInterconnectLinks, "counter", "By", onLinks(func(l *gpu.Link) { l.Transmitted, l.Received = none, none }), []sample{{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "0", "network.io.direction", "transmit"), 101}}},
	{"hw.gpu.interconnect.link.state", gpu.GroupInterconnectState, "updowncounter", "1", onLinks(func(l *gpu.Link) { l.Up = gpu.Opt[bool]{} }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "12", "hw.gpu.interconnect.link_state", "down"), 1},
		{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "12", "hw.gpu.interconnect.link_state", "up"), 0},
	}},
	{"hw.gpu.interconnect.link.width", gpu.GroupInterconnectSpeed, "gauge", "{lane}", onLinks(func(l *gpu.Link) { l.Width = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID, "hw.gpu.interconnect.link", "0"), 100}}},
	{"hw.gpu.io", gpu.GroupPCIeIO, "counter", "By", onDevices(func(d *gpu.Device) { d.PCIe.Transmitted, d.PCIe.Received = none, none }), []sample{{attrs("hw.id", gpuID, "network.io.direction", "transmit"), 912345678901}}},
	{"hw.gpu.memory.bank.count", gpu.GroupMemoryBanks, "updowncounter", "{bank}", onDevices(func(d *gpu.Device) { clear(d.MemoryBanks[:]) }), []sample{{attrs("hw.id", gpuID, "hw.gpu.memory.bank.spares", "max"), 700}, {attrs("hw.id", gpuID, "hw.gpu.memory.bank.spares", "none"), 704}}},
	{"hw.gpu.memory.controller.utilization", gpu.GroupUtilization, "gauge", "1", onDevices(func(d *gpu.Device) { d.MemoryController = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 0.41}}},
	{"hw.gpu.memory.limit", gpu.GroupMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.Limit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 85899345920}}},
	{"hw.gpu.memory.page.bad", gpu.GroupRemappedRows, "updowncounter", "{page}", onDevices(func(d *gpu.Device) { d.RetiredPages.Bad = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", amdID), 16}}},
	{"hw.gpu.memory.page.bad.limit", gpu.GroupRemappedRows, "updowncounter", "{page}", onDevices(func(d *gpu.Device) { d.RetiredPages.BadLimit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", amdID), 256}}},
	{"hw.gpu.memory.page.retired", gpu.GroupRemappedRows, "counter", "{page}", onDevices(func(d *gpu.Device) { d.RetiredPages.Corrected, d.RetiredPages.Uncorrected = none, none }), []sample{{attrs("hw.id", amdID, "error.type", "uncorrected"), 432}}},
	{"hw.gpu.memory.power", gpu.GroupPowerDetail, "gauge", "W", onDevices(func(d *gpu.Device) { d.Power.Memory = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 88.5}}},
	{"hw.gpu.memory.protected.usage", gpu.GroupProtectedMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.Protected = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 4194304}}},
	{"hw.gpu.memory.remap.state", gpu.GroupRemappedRows, "updowncounter", "1", onDevices(dropRemapState), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.remap.state", "pending"), 1},
		{attrs("hw.id", gpuID, "hw.gpu.remap.state", "failed"), 0},
	}},
	{"hw.gpu.memory.reserved", gpu.GroupMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.Reserved = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 701497344}}},
	{"hw.gpu.memory.row.remapped", gpu.GroupRemappedRows, "counter", "{row}", onDevices(func(d *gpu.Device) { d.RemappedRows.Corrected, d.RemappedRows.Uncorrected = none, none }), []sample{{attrs("hw.id", gpuID, "error.type", "corrected"), 311}}},
	{"hw.gpu.memory.system.limit", gpu.GroupMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.SystemLimit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", amdID), 403}}},
	{"hw.gpu.memory.system.usage", gpu.GroupMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.SystemUsage = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", amdID), 404}}},
	{"hw.gpu.memory.usage", gpu.GroupMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.Usage = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 21474836480}}},
	{"hw.gpu.memory.utilization", gpu.GroupMemory, "gauge", "1", onDevices(func(d *gpu.Device) { d.Memory.Limit = gpu.Opt[int64]{} }), []sample{
		{attrs("hw.id", gpuID), 0.25}, // 20 of 80 GiB
		{attrs("hw.id", migID), 0.025},
	}},
	{"hw.gpu.memory.visible.limit", gpu.GroupMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.VisibleLimit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", amdID), 401}}},
	{"hw.gpu.memory.visible.usage", gpu.GroupMemory, "updowncounter", "By", onDevices(func(d *gpu.Device) { d.Memory.VisibleUsage = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", amdID), 402}}},
	{"hw.gpu.mode.current", gpu.GroupModes, "updowncounter", "1", onDevices(func(d *gpu.Device) {
		for i := range d.Modes {
			d.Modes[i].Value = ""
		}
	}), []sample{{attrs("hw.id", gpuID, "hw.gpu.mode.name", "compute", "hw.gpu.mode.value", "value_1"), 1}, {attrs("hw.id", gpuID, "hw.gpu.mode.name", "gsp", "hw.gpu.mode.value", "value_5"), 1}}},
	{"hw.gpu.mode.pending", gpu.GroupPendingModes, "updowncounter", "1", onDevices(func(d *gpu.Device) {
		for i := range d.Modes {
			d.Modes[i].Pending = gpu.Opt[bool]{}
		}
	}), []sample{{attrs("hw.id", gpuID, "hw.gpu.mode.name", "mig"), 1}}},
	{"hw.gpu.module.power", gpu.GroupPowerDetail, "gauge", "W", onDevices(func(d *gpu.Device) { d.Power.Module = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 910.75}}},
	{"hw.gpu.pcie.errors", gpu.GroupPCIeErrors, "counter", "{error}", onDevices(func(d *gpu.Device) { clear(d.PCIe.Errors[:]) }), []sample{
		{attrs("hw.id", gpuID, "error.type", "non_fatal", "hw.gpu.pcie.device", "gpu"), 601},
		{attrs("hw.id", gpuID, "error.type", "fatal", "hw.gpu.pcie.device", "port"), 612},
	}},
	{"hw.gpu.pcie.generation", gpu.GroupPCIeLink, "gauge", "{generation}", onDevices(func(d *gpu.Device) { d.PCIe.Generation = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 4}}},
	{"hw.gpu.pcie.generation.limit", gpu.GroupPCIeLink, "gauge", "{generation}", onDevices(func(d *gpu.Device) { d.PCIe.GenerationLimit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 5}}},
	{"hw.gpu.pcie.naks", gpu.GroupPCIeDetail, "counter", "{nak}", onDevices(func(d *gpu.Device) { d.PCIe.NAKsTransmitted, d.PCIe.NAKsReceived = none, none }), []sample{{attrs("hw.id", amdID, "network.io.direction", "transmit"), 441}, {attrs("hw.id", amdID, "network.io.direction", "receive"), 442}}},
	{"hw.gpu.pcie.recoveries", gpu.GroupPCIeDetail, "counter", "{recovery}", onDevices(func(d *gpu.Device) { d.PCIe.Recoveries = none }), []sample{{attrs("hw.id", amdID), 444}}},
	{"hw.gpu.pcie.replay.rollovers", gpu.GroupPCIeDetail, "counter", "{rollover}", onDevices(func(d *gpu.Device) { d.PCIe.ReplayRollovers = none }), []sample{{attrs("hw.id", amdID), 443}}},
	{"hw.gpu.pcie.replays", gpu.GroupPCIeReplay, "counter", "{replay}", onDevices(func(d *gpu.Device) { d.PCIe.Replays = none }), []sample{{attrs("hw.id", gpuID), 303}}},
	{"hw.gpu.pcie.width", gpu.GroupPCIeLink, "gauge", "{lane}", onDevices(func(d *gpu.Device) { d.PCIe.Width = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 8}}},
	{"hw.gpu.pcie.width.limit", gpu.GroupPCIeLink, "gauge", "{lane}", onDevices(func(d *gpu.Device) { d.PCIe.WidthLimit = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 16}}},
	{"hw.gpu.peer.status", gpu.GroupPeers, "updowncounter", "1", onDevices(func(d *gpu.Device) { d.Peers = nil }), []sample{{attrs("hw.id", gpuID, "hw.gpu.peer.id", "GPU-22222222", "hw.gpu.peer.capability", "nvlink"), 1}, {attrs("hw.id", gpuID, "hw.gpu.peer.capability", "write"), 0}}},
	{"hw.gpu.performance_state", gpu.GroupPerformanceState, "gauge", "{state}", onDevices(func(d *gpu.Device) { d.PerformanceState = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID), 2}}},
	{"hw.gpu.pipe.utilization", gpu.GroupPipes, "gauge", "1", onDevices(func(d *gpu.Device) { clear(d.Pipes[:]) }), []sample{{attrs("hw.id", gpuID, "hw.gpu.pipe", "tensor"), 0.051}}},
	{"hw.gpu.power.instant", gpu.GroupPowerDetail, "gauge", "W", onDevices(func(d *gpu.Device) { d.Power.Instant = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 640.5}}},
	{"hw.gpu.recovery.action", gpu.GroupRecovery, "updowncounter", "1", onDevices(func(d *gpu.Device) { d.RecoveryAction = gpu.Opt[gpu.RecoveryAction]{} }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.recovery.action", "drain_and_reset"), 1},
		{attrs("hw.id", amdID, "hw.gpu.recovery.action", "restart_vm"), 1},
	}},
	{"hw.gpu.sm.occupancy", gpu.GroupPipes, "gauge", "1", onDevices(func(d *gpu.Device) { d.Occupancy = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 0.385}}},
	{"hw.gpu.source.failure", 0, "updowncounter", "1", func(n *gpu.Node) { n.Failure = nil }, []sample{{attrs("hw.gpu.source.name", "nvml", "error.type", "timeout", "hw.vendor", "NVIDIA", "k8s.node.name", "node-a", "k8s.cluster.name", "prod"), 1}}},
	{"hw.gpu.source.readable", 0, "updowncounter", "1", func(n *gpu.Node) { n.Source = "" }, []sample{{attrs("hw.gpu.source.name", "nvml", "k8s.node.name", "node-a"), 0}}},
	{"hw.gpu.speed", gpu.GroupClocks, "gauge", "Hz", onClocks(func(c *gpu.Clock) { c.Speed = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID, "hw.gpu.clock_domain", "memory"), 32e6}}},
	{"hw.gpu.speed.limit", gpu.GroupClockLimits, "gauge", "Hz", onClocks(func(c *gpu.Clock) { c.Limit = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID, "hw.gpu.clock_domain", "video", "hw.limit_type", "max"), 35e6}}},
	{"hw.gpu.temperature.detail", gpu.GroupTemperatureDetail, "gauge", "Cel", onDevices(func(d *gpu.Device) { d.TemperatureDetail = nil }), []sample{{attrs("hw.id", amdID, "hw.sensor_location", "vr_gfx"), 57}}},
	{"hw.gpu.temperature.margin", gpu.GroupTemperatureLimits, "gauge", "Cel", onDevices(func(d *gpu.Device) { clear(d.TemperatureMargin[:]) }), []sample{{attrs("hw.id", gpuID, "hw.limit_type", "high.critical"), 23.5}}},
	{"hw.gpu.throttle.time", gpu.GroupThrottleTime, "counter", "s", onThrottles(func(t *gpu.Throttle) { t.Time = gpu.Counter[float64]{} }), []sample{{attrs("hw.id", gpuID, "hw.gpu.throttle.reason", "hw_thermal_slowdown"), 40.25}, {attrs("hw.id", gpuID, "hw.gpu.throttle.reason", "board_limit"), 93.25}, {attrs("hw.id", gpuID, "hw.gpu.throttle.reason", "host_limit_thermal"), 97.25}}},
	{"hw.gpu.throttled", gpu.GroupThrottle, "updowncounter", "1", onThrottles(func(t *gpu.Throttle) { t.Active = gpu.Opt[bool]{} }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.throttle.reason", "sync_boost"), 1},
		{attrs("hw.id", gpuID, "hw.gpu.throttle.reason", "hw_slowdown"), 0},
	}},
	{"hw.gpu.utilization", gpu.GroupUtilization | gpu.GroupMediaUtilization, "gauge", "1", onDevices(func(d *gpu.Device) { clear(d.Utilization[:]) }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.task", "encoder"), 0.002},
		{attrs("hw.id", gpuID, "hw.gpu.task", "media"), 0.91},
		{attrs("hw.id", migID, "hw.gpu.task", "general", "hw.parent", gpuID), 0.71},
	}},
	{"hw.gpu.vgpu.licensed", gpu.GroupVGPULicense, "updowncounter", "1", onDevices(func(d *gpu.Device) { d.VGPULicensed = gpu.Opt[bool]{} }), []sample{{attrs("hw.id", gpuID), 1}}},
	{"hw.gpu.xcc.utilization", gpu.GroupXCCUtilization, "gauge", "1", onDevices(func(d *gpu.Device) { d.XCCUtilization = nil }), []sample{{attrs("hw.id", amdID, "hw.gpu.xcc", int64(1)), 0.62}}},
	{"hw.gpu.xids", gpu.GroupEvents, "counter", "{xid}", onDevices(func(d *gpu.Device) { d.XIDs = nil }), []sample{
		{attrs("hw.id", gpuID, "hw.gpu.xid", int64(13)), 304},
		{attrs("hw.id", gpuID, "hw.gpu.xid", int64(79)), 305},
	}},
	{"hw.power", gpu.GroupPower, "gauge", "W", onDevices(func(d *gpu.Device) { d.Power.Draw = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID), 612.25}}},
	{"hw.power.limit", gpu.GroupPowerLimit, "gauge", "W", onDevices(func(d *gpu.Device) { clear(d.Power.Limit[:]) }), []sample{{attrs("hw.id", gpuID, "hw.limit_type", "max"), 27.5}, {attrs("hw.id", gpuID, "hw.limit_type", "enforced"), 26.75}, {attrs("hw.id", gpuID, "hw.limit_type", "min"), 20.25}, {attrs("hw.id", gpuID, "hw.limit_type", "default"), 26.5}}},
	{"hw.status", gpu.GroupRemappedRows | gpu.GroupRecovery | gpu.GroupFabric | gpu.GroupECCMemory, "updowncounter", "1", func(n *gpu.Node) { n.Devices = nil }, []sample{
		{attrs("hw.id", gpuID, "hw.state", "degraded"), 1},
		{attrs("hw.id", gpuID, "hw.state", "ok"), 0},
	}},
	{"hw.temperature", gpu.GroupTemperature, "gauge", "Cel", onDevices(func(d *gpu.Device) { clear(d.Temperature[:]) }), []sample{{attrs("hw.id", gpuID, "hw.sensor_location", "hotspot"), 14.5}}},
	{"hw.temperature.limit", gpu.GroupTemperatureLimits, "gauge", "Cel", onDevices(func(d *gpu.Device) { clear(d.TemperatureLimit[:]) }), []sample{{attrs("hw.id", gpuID, "hw.sensor_location", "memory", "hw.limit_type", "high.critical"), 12.5}}},
	{"hw.voltage", gpu.GroupVoltage, "gauge", "V", onDevices(func(d *gpu.Device) { d.Voltage = nil }), []sample{{attrs("hw.id", amdID, "hw.sensor_location", "gfx"), 0.875}}},
	{"process.gpu.evicted.time", gpu.GroupProcesses | gpu.GroupProcessTimes, "counter", "s", onProcesses(func(p *gpu.Process) { p.EvictedTime = gpu.Counter[float64]{} }), []sample{{attrs("hw.id", gpuID, "process.pid", int64(4711)), 72.5}}},
	{"process.gpu.info", gpu.GroupProcesses, "updowncounter", "1", func(n *gpu.Node) { n.Processes = nil }, []sample{
		{attrs("hw.id", amdID, "process.pid", int64(4711), "process.gpu.type", "compute_graphics"), 1},
		{attrs("hw.id", amdID, "process.pid", int64(4713)), 1}, // nothing else is known of it
	}},
	{"process.gpu.media.utilization", gpu.GroupProcesses | gpu.GroupProcessUtilization, "gauge", "1", onProcesses(func(p *gpu.Process) { clear(p.Utilization[gpu.TaskGeneral+1:]) }), []sample{{attrs("hw.id", gpuID, "process.pid", int64(4711), "hw.gpu.task", "jpeg"), 0.04}}},
	{"process.gpu.memory.controller.utilization", gpu.GroupProcesses | gpu.GroupProcessUtilization, "gauge", "1", onProcesses(func(p *gpu.Process) { p.MemoryController = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID, "process.pid", int64(4711), "process.gpu.type", "compute"), 0.37}}},
	{"process.gpu.memory.system.usage", gpu.GroupProcesses, "updowncounter", "By", onProcesses(func(p *gpu.Process) { p.SystemMemory = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID, "process.pid", int64(4711), "process.gpu.type", "compute"), 32212254720}}},
	{"process.gpu.memory.usage", gpu.GroupProcesses, "updowncounter", "By", onProcesses(func(p *gpu.Process) { p.Memory = gpu.Opt[int64]{} }), []sample{{attrs("hw.id", gpuID, "process.pid", int64(4711), "process.gpu.type", "compute"), 9663676416}}},
	{"process.gpu.sdma.time", gpu.GroupProcesses | gpu.GroupProcessTimes, "counter", "s", onProcesses(func(p *gpu.Process) { p.SDMATime = gpu.Counter[float64]{} }), []sample{{attrs("hw.id", gpuID, "process.pid", int64(4711), "process.gpu.type", "compute"), 71.5}}},
	{"process.gpu.utilization", gpu.GroupProcesses | gpu.GroupProcessUtilization, "gauge", "1", onProcesses(func(p *gpu.Process) { p.Utilization[gpu.TaskGeneral] = gpu.Opt[float64]{} }), []sample{{attrs("hw.id", gpuID, "process.pid", int64(4711), "hw.gpu.task", "general"), 0.01}}},
}

// onDevices makes a value of every device absent.
func onDevices(remove func(d *gpu.Device)) func(*gpu.Node) {
	return func(node *gpu.Node) {
		for i := range node.Devices {
			remove(&node.Devices[i])
		}
	}
}

// onUses makes a value of every use of a device by a container absent.
func onUses(remove func(u *gpu.ContainerUse)) func(*gpu.Node) {
	return func(node *gpu.Node) {
		for i := range node.Containers {
			remove(&node.Containers[i])
		}
	}
}

// onProcesses makes a value of every process absent.
func onProcesses(remove func(p *gpu.Process)) func(*gpu.Node) {
	return func(node *gpu.Node) {
		for i := range node.Processes {
			remove(&node.Processes[i])
		}
	}
}

func dropErrors(lifetime bool) func(*gpu.Device) {
	return func(d *gpu.Device) {
		d.Errors = slices.DeleteFunc(d.Errors, func(e gpu.ErrorCount) bool { return e.Lifetime == lifetime })
	}
}

var none gpu.Counter[int64]

func onLinks(remove func(l *gpu.Link)) func(*gpu.Node) {
	return onDevices(func(d *gpu.Device) {
		for i := range d.Interconnect.Links {
			remove(&d.Interconnect.Links[i])
		}
	})
}

func onClocks(remove func(c *gpu.Clock)) func(*gpu.Node) {
	return onDevices(func(d *gpu.Device) {
		for i := range d.Clocks {
			remove(&d.Clocks[i])
		}
	})
}

func onThrottles(remove func(t *gpu.Throttle)) func(*gpu.Node) {
	return onDevices(func(d *gpu.Device) {
		for i := range d.Throttle {
			remove(&d.Throttle[i])
		}
	})
}

func dropRemapState(d *gpu.Device) {
	d.RemappedRows.Pending, d.RemappedRows.Failed = gpu.Opt[bool]{}, gpu.Opt[bool]{}
}
