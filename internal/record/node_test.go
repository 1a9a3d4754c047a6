// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	gpuID = "GPU-11111111-2222-3333-4444-555555555555"
	migID = "MIG-66666666-7777-8888-9999-aaaaaaaaaaaa"
	amdID = "0123456789abcdef"
)

var (
	readAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	since  = readAt.Add(-time.Hour) // when the counters of the receiver started
)

// counting returns distinct numbers.
type counting struct{ last int64 }

func (c *counting) next() int64 { c.last++; return c.last }

// fullNode has every reading that exists, all different: a current NVIDIA GPU with a MIG instance, and an AMD GPU that also represents
// older boards.
func fullNode() *gpu.Node {
	pod := &gpu.Container{
		Namespace: "research", PodName: "train-0", PodUID: "0a1b2c3d", Name: "trainer", ID: "cafe01",
		Owners: []gpu.Owner{
			{Kind: "ReplicaSet", Name: "train-6b", UID: "rs-1", APIVersion: "apps/v1"},
			{Kind: "Deployment", Name: "train", UID: "de-1", APIVersion: "apps/v1"},
		},
		Labels: map[string]string{"k8s.pod.label.team": "vision"},
	}
	// Docker in a YARN container of a Slurm job in a guest: every kind of container at once.
	bare := &gpu.Container{ID: "cafe02", RuntimeName: "guest", SlurmSLUID: "sEKNKTV3WPV500", BatchSystem: "yarn", BatchJob: "container_1_2_3_4"}
	bare.Runtime, bare.ImageName, bare.ImageTags = "docker", "registry.example/train", []string{"2.1"}
	job := &gpu.Container{SlurmJob: "8123", SlurmUser: "ada", SlurmAccount: "physics", SlurmPartition: "gpu"}
	unit := &gpu.Container{SystemdUnit: "ollama.service"}
	node := &gpu.Node{
		Host: gpu.Host{
			Name: "node-a", NodeName: "node-a", ClusterName: "prod", Labels: map[string]string{"k8s.node.label.pool": "gpu"},
		},
		Source:        "nvml",
		OtherDriver:   true,
		Vendor:        gpu.NVIDIA,
		Time:          readAt,
		Failure:       &gpu.Failure{Reason: gpu.FailureTimeout, Err: errors.New("nvmlInit has not returned")},
		Devices:       []gpu.Device{fullGPU(pod), partition(), otherGPU()},
		Processes:     processes(pod, job, bare, unit),
		Containers:    []gpu.ContainerUse{fullUse(pod), {Container: bare, DeviceID: migID, MemoryUsage: gpu.Some[int64](881)}},
		Problems:      []gpu.Problem{{Kind: gpu.ProblemProcesses, Device: gpuID, What: "processes", Err: errors.New("not permitted")}},
		Events:        []gpu.Event{{Type: gpu.EventXID, Time: readAt, DeviceID: gpuID, XID: 79}},
		RestartNeeded: errors.New("the library was replaced"),
	}
	node.Containers = append(node.Containers,
		gpu.ContainerUse{Container: job, DeviceID: amdID, Allocated: gpu.Some(false), Power: gpu.Some(71.5)},
		gpu.ContainerUse{Container: unit, DeviceID: amdID, Allocated: gpu.Some(false), MemoryUsage: gpu.Some[int64](882)},
		gpu.ContainerUse{Container: pod, DeviceID: amdID, Allocated: gpu.Some(true), Resource: "amd.com/gpu"})
	for presence := range node.Presence {
		node.Presence[presence] = gpu.Some(int64(presence) + 2)
	}
	return node
}

func fullGPU(holder *gpu.Container) gpu.Device {
	d := gpu.Device{
		ID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA, Index: gpu.Some(0),
		CurrentIndex: gpu.Some(6), Epoch: 3,
		Info: gpu.Info{
			Serial: "1650123000001", DriverVersion: "580.65.06", FirmwareVersion: "96.00.89.00.01", PCIAddress: "0000:1a:00.0",
			ComputeCapability: "9.0", NUMANode: gpu.Some[int64](1), FabricClique: "7", FabricCluster: "0f0e0d0c-0b0a-0908-0706-050403020100",
			InterconnectVersion: "4.0", C2CMode: "disabled", BoardPartNumber: "900-21010-0000-000", Brand: "nvidia", Architecture: "hopper",
			InfoROMVersion: "G520.0200.00.05", CUDAVersion: "13.0", NVMLVersion: "13.580.65.06", MemoryPartition: "NPS1",
		},
		Faults: []gpu.Fault{
			{Type: gpu.FaultRemapPending, Message: "rows wait to be remapped"}, {Type: gpu.FaultDrain, Message: "drain it"},
		},
		MemoryController: gpu.Some(0.41),
		Memory: gpu.Memory{
			Limit: gpu.Some[int64](85_899_345_920), Usage: gpu.Some[int64](21_474_836_480), Reserved: gpu.Some[int64](701_497_344),
			Protected: gpu.Some[int64](4_194_304), BAR1Limit: gpu.Some[int64](137_438_953_472), BAR1Usage: gpu.Some[int64](1_048_576),
		},
		Power:            gpu.Power{Draw: gpu.Some(612.25), Instant: gpu.Some(640.5), Module: gpu.Some(910.75), Memory: gpu.Some(88.5)},
		Energy:           gpu.Total(123_456.789),
		PerformanceState: gpu.Some[int64](2),
		Encoder:          gpu.Sessions{Count: gpu.Some[int64](4), FrameRate: gpu.Some(59.5), Latency: gpu.Some(0.0021)},
		FrameBuffer:      gpu.Sessions{Count: gpu.Some[int64](5), FrameRate: gpu.Some(29.5), Latency: gpu.Some(0.0031)},
		VGPULicensed:     gpu.Some(true),
		Fans:             []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(0.58), Speed: gpu.Some[int64](3200)}, {Location: "fan1", Ratio: gpu.Some(0.61), Speed: gpu.Some[int64](3210)}},
		PCIe: gpu.PCIe{
			Transmitted: gpu.Total[int64](912_345_678_901), Received: gpu.Total[int64](312_345_678_902), Replays: gpu.Total[int64](303),
			Generation: gpu.Some[int64](4), GenerationLimit: gpu.Some[int64](5), Width: gpu.Some[int64](8), WidthLimit: gpu.Some[int64](16),
			Errors: pcieErrors(),
		},
		Interconnect: gpu.Interconnect{
			Type: gpu.NVLink, Transmitted: gpu.Total[int64](5_000_000_001), Received: gpu.Total[int64](6_000_000_002),
			Errors: linkErrors(308), Links: []gpu.Link{link("0", 100), link("11", 200), {Name: "12", Up: gpu.Some(false)}},
		},
		Fabric: fabric(),
		Peers:  []gpu.Peer{peer()},
		Errors: []gpu.ErrorCount{
			{Type: gpu.ErrorCorrected, Count: gpu.Total[int64](301)},
			{Type: gpu.ErrorUncorrected, Count: gpu.Total[int64](302)},
			{Type: gpu.ErrorCorrected, Lifetime: true, Count: gpu.Total[int64](306)},
			{Type: gpu.ErrorUncorrected, Lifetime: true, Count: gpu.Total[int64](307)},
		},
		ECC:  ecc(),
		XIDs: []gpu.XIDCount{{XID: 13, Count: gpu.TotalSince[int64](304, since)}, {XID: 79, Count: gpu.TotalSince[int64](305, since)}},
		RemappedRows: gpu.RemappedRows{
			Corrected: gpu.Total[int64](311), Uncorrected: gpu.Total[int64](312), Pending: gpu.Some(true), Failed: gpu.Some(false),
		},
		Occupancy:      gpu.Some(0.385),
		RecoveryAction: gpu.Some(gpu.RecoveryDrainAndReset),
		Holders:        []gpu.Holder{{Container: holder, Resource: "nvidia.com/gpu", Allocator: gpu.AllocatorDRA, Sharing: gpu.SharingMPS, Virtual: true}},
		HoldersKnown:   true,
		Aliases:        []string{"nvidia0"},
	}
	fillArrays(&d)
	return d
}

// fillArrays sets each element of the device's arrays to a different number.
func fillArrays(d *gpu.Device) {
	var n counting
	fraction := func() gpu.Opt[float64] { return gpu.Some(float64(n.next()) / 1000) }
	degrees := func() gpu.Opt[float64] { return gpu.Some(float64(n.next()) + 0.5) }
	for i := range gpu.TaskMedia {
		d.Utilization[i] = fraction()
	}
	d.Utilization[gpu.TaskMedia] = gpu.Some(0.91)
	for i := range d.Temperature {
		d.Temperature[i] = degrees()
		for j := range gpu.LimitEnforced { // which is a limit of power alone
			d.TemperatureLimit[i][j] = degrees()
		}
	}
	for i := range gpu.LimitEnforced {
		d.TemperatureMargin[i] = degrees()
	}
	for i := range gpu.LimitEnforced {
		d.Power.Limit[i] = degrees()
	}
	d.Power.Limit[gpu.LimitEnforced] = gpu.Some(26.75)
	d.Power.Limit[gpu.LimitMin], d.Power.Limit[gpu.LimitDefault] = gpu.Some(20.25), gpu.Some(26.5)
	for i := range d.Modes {
		d.Modes[i] = gpu.Mode{Value: fmt.Sprint("value_", i), Pending: gpu.Some(true)}
	}
	for i := range d.Clocks {
		d.Clocks[i] = gpu.Clock{Speed: gpu.Some(float64(n.next()) * 1e6), Limit: gpu.Some(float64(n.next()) * 1e6)}
	}
	for i := range gpu.ThrottleBoardLimit {
		d.Throttle[i] = gpu.Throttle{Active: gpu.Some(i%2 == 0), Time: gpu.Total(float64(n.next()) + 0.25)}
	}
	for i := range d.Pipes {
		d.Pipes[i] = fraction()
	}
	for i := gpu.ThrottleBoardLimit; i < gpu.NumThrottleReasons; i++ {
		d.Throttle[i] = gpu.Throttle{Active: gpu.Some(true), Time: gpu.Total(80.25 + float64(i))}
	}
	for i := range d.MemoryBanks {
		d.MemoryBanks[i] = gpu.Some(700 + int64(i))
	}
}

func fabric() gpu.Fabric {
	f := gpu.Fabric{State: gpu.Some(gpu.FabricCompleted), Failure: "not found"}
	for i := range f.Conditions {
		f.Conditions[i] = gpu.Some(true)
	}
	return f
}

func peer() gpu.Peer {
	p := gpu.Peer{ID: "GPU-22222222"}
	for i := range p.Capabilities {
		p.Capabilities[i] = gpu.Some(i%2 == 0)
	}
	return p
}

func pcieErrors() (errors [gpu.NumPCIeDevices][gpu.NumPCIeErrorTypes]gpu.Counter[int64]) {
	for i := range errors {
		for j := range errors[i] {
			errors[i][j] = gpu.Total(600 + 10*int64(i) + int64(j))
		}
	}
	return errors
}

func ecc() gpu.ECC {
	e := gpu.ECC{SRAMThresholdExceeded: gpu.Some(true)}
	for i := range e.Memory {
		for j := range e.Memory[i] {
			e.Memory[i][j] = gpu.Total(500 + 10*int64(i) + int64(j))
		}
	}
	for i := range gpu.NumErrorLocations {
		kind := gpu.ErrorCorrected
		if i == gpu.LocationDRAM {
			kind = gpu.ErrorUncorrected
		}
		e.Locations = append(e.Locations, gpu.LocationErrors{Location: i, Type: kind, Count: gpu.Total(1000 + int64(i))})
	}
	return e
}

func link(name string, base int64) gpu.Link {
	l := gpu.Link{
		Name: name, Transmitted: gpu.Total(base + 1), Received: gpu.Total(base + 2), Errors: linkErrors(base + 3),
		Up: gpu.Some(true), Bandwidth: gpu.Some(float64(base) * 1e9), Width: gpu.Some(base),
	}
	for i := range l.BitErrorRatio {
		l.BitErrorRatio[i] = gpu.Some(float64(base+int64(i)+1) * 1e-9)
	}
	for i := range l.FEC {
		l.FEC[i] = gpu.Total(25*base + int64(i))
	}
	return l
}

func linkErrors(base int64) (errors [gpu.NumLinkErrorTypes]gpu.Counter[int64]) {
	for i := range errors {
		errors[i] = gpu.Total(base + int64(i))
	}
	return errors
}

// partition is a MIG instance of fullGPU.
func partition() gpu.Device {
	d := gpu.Device{
		ID: migID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", Vendor: gpu.NVIDIA, Parent: gpuID,
		Info:        gpu.Info{Profile: "3g.40gb"},
		Memory:      gpu.Memory{Limit: gpu.Some[int64](42_949_672_960), Usage: gpu.Some[int64](1_073_741_824)},
		GPUInstance: gpu.Some(2), ComputeInstance: gpu.Some(0), HoldersKnown: true, ProcessesUnread: true,
	}
	d.Utilization[gpu.TaskGeneral] = gpu.Some(0.71)
	return d
}

// otherGPU has values that fullGPU cannot have at the same time.
func otherGPU() gpu.Device {
	return gpu.Device{
		ID: amdID, Name: "card1", Model: "AMD Instinct MI300X", Vendor: gpu.AMD, Index: gpu.Some(1), Partition: gpu.Some(3),
		Memory: gpu.Memory{
			VisibleLimit: gpu.Some[int64](401), VisibleUsage: gpu.Some[int64](402),
			SystemLimit: gpu.Some[int64](403), SystemUsage: gpu.Some[int64](404),
		},
		Interconnect: gpu.Interconnect{Type: gpu.XGMI, Transmitted: gpu.Total[int64](411), Received: gpu.Total[int64](412)},
		Errors: []gpu.ErrorCount{
			{Type: gpu.ErrorCorrected, Block: "umc", Count: gpu.Total[int64](421)},
			{Type: gpu.ErrorCorrected, Block: "gfx", Count: gpu.Total[int64](422)},
			{Type: gpu.ErrorDeferred, Block: "umc", Count: gpu.Total[int64](423)},
		},
		RetiredPages: gpu.RetiredPages{
			Corrected: gpu.Total[int64](431), Uncorrected: gpu.Total[int64](432), Bad: gpu.Some[int64](16), BadLimit: gpu.Some[int64](256), Pending: gpu.Some(false),
		},
		PCIe: gpu.PCIe{
			NAKsTransmitted: gpu.Total[int64](441), NAKsReceived: gpu.Total[int64](442), ReplayRollovers: gpu.Total[int64](443), Recoveries: gpu.Total[int64](444),
		},
		XCCUtilization:    []gpu.Opt[float64]{gpu.Some(0.61), gpu.Some(0.62)},
		TemperatureDetail: []gpu.SensorValue{{Location: "hbm0", Value: gpu.Some(56.0)}, {Location: "vr_gfx", Value: gpu.Some(57.0)}},
		Voltage:           []gpu.SensorValue{{Location: "gfx", Value: gpu.Some(0.875)}, {Location: "soc", Value: gpu.Some(0.9)}},
		RecoveryAction:    gpu.Some(gpu.RecoveryOther), RecoveryWord: "Restart VM",
	}
}

func processes(pod, job, bare, unit *gpu.Container) []gpu.Process {
	full := gpu.Process{
		PID: 4711, DeviceID: gpuID, Type: gpu.ProcessCompute, Memory: gpu.Some[int64](9_663_676_416),
		SystemMemory: gpu.Some[int64](32_212_254_720), SDMATime: gpu.Total(71.5), EvictedTime: gpu.Total(72.5),
		MemoryController: gpu.Some(0.37), Created: readAt.Add(-90 * time.Minute), Program: "/usr/bin/python3", Executable: "python3", Command: "/usr/bin/python3", CommandLine: "/usr/bin/python3 train.py",
		UserID: gpu.Some[int64](1000), Owner: "alice", Container: pod, Cgroup: "0::/kubepods/pod0a1b2c3d/cafe01",
	}
	var n counting
	for i := range full.Utilization {
		full.Utilization[i] = gpu.Some(float64(n.next()) / 100)
	}
	return []gpu.Process{
		full,
		{PID: 99, DeviceID: migID, Type: gpu.ProcessMPS, Memory: gpu.Some[int64](1001), Container: job},
		{PID: 4711, DeviceID: amdID, Type: gpu.ProcessComputeGraphics, Memory: gpu.Some[int64](1002)}, // the same on a second GPU
		{PID: 4712, DeviceID: amdID, Memory: gpu.Some[int64](1003), Container: bare},
		{PID: 4713, DeviceID: amdID, Container: unit},
	}
}

func fullUse(c *gpu.Container) gpu.ContainerUse {
	use := gpu.ContainerUse{
		Container: c, DeviceID: gpuID, Allocated: gpu.Some(true), Resource: "nvidia.com/gpu", Allocator: gpu.AllocatorDRA, Sharing: gpu.SharingMPS, Share: gpu.Some(0.375),
		MemoryUsage: gpu.Some[int64](9_663_676_417), MemoryLimit: gpu.Some[int64](85_899_345_921), Power: gpu.Some(401.5),
		Energy: gpu.TotalSince(7001.25, since), IdleTime: gpu.TotalSince(12.5, since),
	}
	var n counting
	for i := range use.Utilization {
		use.Utilization[i] = gpu.Some(float64(n.next()) / 50)
	}
	return use
}
