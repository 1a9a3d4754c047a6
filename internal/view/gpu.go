// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"time"
)

// GPU is a device: a package, a MIG instance or an AMD partition.
type GPU struct {
	ID                string    `json:"id"`                 // hw.id
	Parent            *string   `json:"parent"`             // hw.parent: the package of a partition
	Node              string    `json:"node"`               // name of the node
	Cluster           *string   `json:"cluster"`            // k8s.cluster.name; null outside clusters
	Index             *int      `json:"index"`              // hw.gpu.index
	Name              *string   `json:"name"`               // hw.name
	Vendor            *string   `json:"vendor"`             // hw.vendor
	Model             *string   `json:"model"`              // hw.model
	PCIAddress        *string   `json:"pci_address"`        // PCI address, such as 0000:10:00.0
	SerialNumber      *string   `json:"serial_number"`      // hw.serial_number
	DriverVersion     *string   `json:"driver_version"`     // version of the vendor's driver
	FirmwareVersion   *string   `json:"firmware_version"`   // version of the VBIOS
	ComputeCapability *string   `json:"compute_capability"` // CUDA compute capability, or the gfx target of an AMD GPU
	PartitionProfile  *string   `json:"partition_profile"`  // profile of a partition, such as 1g.10gb
	NUMANode          *int      `json:"numa_node"`          // NUMA node that is nearest to the GPU
	LastSeen          time.Time `json:"last_seen"`          // when the last message about it arrived
	Stale             bool      `json:"stale"`              // its node is silent: everything below is as it was then

	Status         *string  `json:"status"`          // hw.state of hw.status that is 1: ok, degraded, failed, predicted_failure; null: nothing is known
	Faults         []string `json:"faults"`          // error.type of hw.gpu.fault that are 1
	RecoveryAction *string  `json:"recovery_action"` // what the driver asks for, such as reset; null: it asks for nothing, or no source reports it

	Utilization      Utilization        `json:"utilization"`                 // how busy its parts were
	Memory           Memory             `json:"memory"`                      // its memory
	Temperatures     []Temperature      `json:"temperatures"`                // temperature sensors
	Margins          map[string]float64 `json:"temperature_margins_celsius"` // by hw.limit_type
	Power            Power              `json:"power"`                       // its power
	Clocks           map[string]float64 `json:"clocks_hertz"`                // by hw.gpu.clock_domain
	ClockLimits      map[string]float64 `json:"clock_limits_hertz"`          // by hw.gpu.clock_domain; empty unless hw.gpu.speed.limit is enabled
	PerformanceState *int               `json:"performance_state"`           // number of the performance state: 0 for P0, the fastest
	Fans             []Fan              `json:"fans"`                        // its fans
	Throttled        []string           `json:"throttled"`                   // reasons that hold now
	ThrottleTimes    map[string]float64 `json:"throttle_seconds"`            // how long clocks were throttled, by reason
	PCIe             PCIe               `json:"pcie"`                        // its PCIe link
	Interconnects    []Interconnect     `json:"interconnects"`               // links to other GPUs, by kind
	Errors           map[string]float64 `json:"errors"`                      // memory errors by error.type
	XIDs             map[string]float64 `json:"xids"`                        // by code
	RemappedRows     map[string]float64 `json:"remapped_rows"`               // remapped rows of its memory, by cause
	RetiredPages     map[string]float64 `json:"retired_pages"`               // retired pages of its memory, by cause
	RemapStates      []string           `json:"remap_states"`                // that are 1
	MemoryBanks      map[string]float64 `json:"memory_banks"`                // banks of the memory, by the spare rows that they have left
	BadPages         BadPages           `json:"bad_pages"`                   // pages of its memory that are out of use
	Fabric           Fabric             `json:"fabric"`                      // its state in the NVLink fabric
	PendingModes     []string           `json:"pending_modes"`               // hw.gpu.mode.name of those that wait for a reset

	Allocated  *int         `json:"allocated"`  // hw.gpu.allocated: 1: held by a container; null: not known
	Containers []*Container `json:"containers"` // containers, jobs and units that hold or use it
	Processes  []*Process   `json:"processes"`  // processes on it
}

// HealthClass is the one class in which a GPU is counted.
type HealthClass string

// The classes of GPUs.
const (
	HealthStale            HealthClass = "stale" // its node is silent
	HealthFailed           HealthClass = "failed"
	HealthPredictedFailure HealthClass = "predicted_failure"
	HealthDegraded         HealthClass = "degraded"
	HealthUnknown          HealthClass = "unknown"   // without hw.status
	HealthThrottled        HealthClass = "throttled" // ok, but slowed down by heat, its hardware or the power brake
	HealthOK               HealthClass = "healthy"   // ok, read recently, and not throttled
)

// Health returns the class in which the GPU is counted.
func (g *GPU) Health() HealthClass {
	switch {
	case g.Stale:
		return HealthStale
	case g.Status == nil:
		return HealthUnknown
	case *g.Status == "ok" && g.Slowed():
		return HealthThrottled
	case *g.Status == "ok":
		return HealthOK
	}
	switch health := HealthClass(*g.Status); health {
	case HealthFailed, HealthPredictedFailure, HealthDegraded:
		return health
	}
	return HealthUnknown
}

// Idle reports whether a container holds the GPU and does not use it.
func (g *GPU) Idle() bool {
	return slices.ContainsFunc(g.Containers, func(c *Container) bool { return c.IdleSince != nil })
}

// Slowed reports whether clocks are throttled for a reason that is not by design.
func (g *GPU) Slowed() bool {
	return slices.ContainsFunc(g.Throttled, func(reason string) bool { return !ThrottledByDesign(reason) })
}

// ThrottledByDesign reports whether a reason for throttling is how a GPU keeps its power limit, or its clocks equal to other GPUs'.
func ThrottledByDesign(reason string) bool {
	return reason == "sw_power_cap" || reason == "sync_boost" || reason == "power"
}

// Utilization is the share of time in which a part was busy.
type Utilization struct {
	General          *float64 `json:"general"`           // of the SMs or compute units
	Encoder          *float64 `json:"encoder"`           // of the video encoder
	Decoder          *float64 `json:"decoder"`           // of the video decoder
	JPEG             *float64 `json:"jpeg"`              // of the JPEG engine
	OpticalFlow      *float64 `json:"optical_flow"`      // of the optical flow accelerator
	MemoryController *float64 `json:"memory_controller"` // of the memory controller
}

// Memory is a device's memory, or the sum over devices.
type Memory struct {
	Total       *float64 `json:"total_bytes"`    // size
	Used        *float64 `json:"used_bytes"`     // what processes use
	Reserved    *float64 `json:"reserved_bytes"` // what the driver keeps for itself
	Free        *float64 `json:"free_bytes"`     // total - used - reserved; an absent reserved counts 0
	Utilization *float64 `json:"utilization"`    // used / total
}

// Temperature is what one sensor measures.
type Temperature struct {
	Sensor  string             `json:"sensor"`         // hw.sensor_location
	Celsius *float64           `json:"celsius"`        // present temperature; null: only the limits are known
	Limits  map[string]float64 `json:"limits_celsius"` // by hw.limit_type
}

// Power is what a GPU draws.
type Power struct {
	Watts       *float64 `json:"watts"`           // power draw
	Limit       *float64 `json:"limit_watts"`     // enforced
	MaxLimit    *float64 `json:"max_limit_watts"` // the highest that can be set
	Utilization *float64 `json:"utilization"`     // watts / limit
	Energy      *float64 `json:"energy_joules"`   // energy since the counter started
}

// Fan is one fan.
type Fan struct {
	Sensor string  `json:"sensor"`      // name of the fan
	Speed  float64 `json:"speed_ratio"` // share of its highest speed
}

// PCIe is the link to the machine.
type PCIe struct {
	Generation    *int               `json:"generation"`        // present generation of the link
	MaxGeneration *int               `json:"max_generation"`    // highest generation that both ends support
	Width         *int               `json:"width"`             // present number of lanes
	MaxWidth      *int               `json:"max_width"`         // highest number of lanes that both ends support
	Replays       *float64           `json:"replays"`           // packets that were sent again, since the counter started
	Transmitted   *float64           `json:"transmitted_bytes"` // hw.gpu.io
	Received      *float64           `json:"received_bytes"`    // hw.gpu.io, received
	Errors        map[string]float64 `json:"errors"`            // that the GPU has found (AER), by error.type
	PortErrors    map[string]float64 `json:"port_errors"`       // that the port above the GPU has found (AER), by error.type
}

// Interconnect is all links of one kind to other GPUs.
type Interconnect struct {
	Type        string             `json:"type"`              // nvlink, xgmi
	Transmitted *float64           `json:"transmitted_bytes"` // bytes sent, since the counter started
	Received    *float64           `json:"received_bytes"`    // bytes received, since the counter started
	Errors      map[string]float64 `json:"errors"`            // by error.type
	LinksUp     *int               `json:"links_up"`          // number of links that work
	LinksDown   *int               `json:"links_down"`        // number of links that do not work
}

// BadPages are pages of an AMD GPU's memory that are out of use for good.
type BadPages struct {
	Count *float64 `json:"count"` // number of bad pages
	Limit *float64 `json:"limit"` // from which on the GPU should be replaced
}

// Fabric is how a GPU is in the NVLink fabric.
type Fabric struct {
	State      *string  `json:"state"`      // null: it is in none, or nothing is known
	Conditions []string `json:"conditions"` // that hold now
}
