// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"time"
)

// GPU is a device: a package, a MIG instance or an AMD partition.
type GPU struct {
	ID                string    `json:"id"`     // hw.id
	Parent            *string   `json:"parent"` // hw.parent: the package of a partition
	Node              string    `json:"node"`
	Cluster           *string   `json:"cluster"`
	Index             *int      `json:"index"` // hw.gpu.index
	Name              *string   `json:"name"`  // hw.name
	Vendor            *string   `json:"vendor"`
	Model             *string   `json:"model"`
	PCIAddress        *string   `json:"pci_address"`
	SerialNumber      *string   `json:"serial_number"`
	DriverVersion     *string   `json:"driver_version"`
	FirmwareVersion   *string   `json:"firmware_version"`
	ComputeCapability *string   `json:"compute_capability"`
	PartitionProfile  *string   `json:"partition_profile"`
	NUMANode          *int      `json:"numa_node"`
	LastSeen          time.Time `json:"last_seen"`
	Stale             bool      `json:"stale"` // its node is silent: everything below is as it was then

	Status         *string  `json:"status"` // hw.state of hw.status that is 1: ok, degraded, failed, predicted_failure; null: nothing is known
	Faults         []string `json:"faults"` // error.type of hw.gpu.fault that are 1
	RecoveryAction *string  `json:"recovery_action"`

	Utilization      Utilization        `json:"utilization"`
	Memory           Memory             `json:"memory"`
	Temperatures     []Temperature      `json:"temperatures"`
	Margins          map[string]float64 `json:"temperature_margins_celsius"` // by hw.limit_type
	Power            Power              `json:"power"`
	Clocks           map[string]float64 `json:"clocks_hertz"`       // by hw.gpu.clock_domain
	ClockLimits      map[string]float64 `json:"clock_limits_hertz"` // by hw.gpu.clock_domain; empty unless hw.gpu.speed.limit is enabled
	PerformanceState *int               `json:"performance_state"`
	Fans             []Fan              `json:"fans"`
	Throttled        []string           `json:"throttled"` // reasons that hold now
	ThrottleTimes    map[string]float64 `json:"throttle_seconds"`
	PCIe             PCIe               `json:"pcie"`
	Interconnects    []Interconnect     `json:"interconnects"`
	Errors           map[string]float64 `json:"errors"` // memory errors by error.type
	XIDs             map[string]float64 `json:"xids"`   // by code
	RemappedRows     map[string]float64 `json:"remapped_rows"`
	RetiredPages     map[string]float64 `json:"retired_pages"`
	RemapStates      []string           `json:"remap_states"` // that are 1
	MemoryBanks      map[string]float64 `json:"memory_banks"` // banks of the memory, by the spare rows that they have left
	BadPages         BadPages           `json:"bad_pages"`
	Fabric           Fabric             `json:"fabric"`
	PendingModes     []string           `json:"pending_modes"` // hw.gpu.mode.name of those that wait for a reset

	Allocated  *int         `json:"allocated"` // hw.gpu.allocated: 1: held by a container; null: not known
	Containers []*Container `json:"containers"`
	Processes  []*Process   `json:"processes"`
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
	General          *float64 `json:"general"`
	Encoder          *float64 `json:"encoder"`
	Decoder          *float64 `json:"decoder"`
	JPEG             *float64 `json:"jpeg"`
	OpticalFlow      *float64 `json:"optical_flow"`
	MemoryController *float64 `json:"memory_controller"`
}

// Memory is a device's memory, or the sum over devices.
type Memory struct {
	Total       *float64 `json:"total_bytes"`
	Used        *float64 `json:"used_bytes"`
	Reserved    *float64 `json:"reserved_bytes"`
	Free        *float64 `json:"free_bytes"`  // total - used - reserved; an absent reserved counts 0
	Utilization *float64 `json:"utilization"` // used / total
}

// Temperature is what one sensor measures.
type Temperature struct {
	Sensor  string             `json:"sensor"` // hw.sensor_location
	Celsius *float64           `json:"celsius"`
	Limits  map[string]float64 `json:"limits_celsius"` // by hw.limit_type
}

// Power is what a GPU draws.
type Power struct {
	Watts       *float64 `json:"watts"`
	Limit       *float64 `json:"limit_watts"`     // enforced
	MaxLimit    *float64 `json:"max_limit_watts"` // the highest that can be set
	Utilization *float64 `json:"utilization"`     // watts / limit
	Energy      *float64 `json:"energy_joules"`
}

// Fan is one fan.
type Fan struct {
	Sensor string  `json:"sensor"`
	Speed  float64 `json:"speed_ratio"`
}

// PCIe is the link to the machine.
type PCIe struct {
	Generation    *int     `json:"generation"`
	MaxGeneration *int     `json:"max_generation"`
	Width         *int     `json:"width"`
	MaxWidth      *int     `json:"max_width"`
	Replays       *float64 `json:"replays"`
	Transmitted   *float64 `json:"transmitted_bytes"` // hw.gpu.io
	Received      *float64 `json:"received_bytes"`
	// Errors and PortErrors are those that the GPU and the port above it have found (AER), by error.type.
	Errors     map[string]float64 `json:"errors"`
	PortErrors map[string]float64 `json:"port_errors"`
}

// Interconnect is all links of one kind to other GPUs.
type Interconnect struct {
	Type        string             `json:"type"` // nvlink, xgmi
	Transmitted *float64           `json:"transmitted_bytes"`
	Received    *float64           `json:"received_bytes"`
	Errors      map[string]float64 `json:"errors"` // by error.type
	LinksUp     *int               `json:"links_up"`
	LinksDown   *int               `json:"links_down"`
}

// BadPages are pages of an AMD GPU's memory that are out of use for good.
type BadPages struct {
	Count *float64 `json:"count"`
	Limit *float64 `json:"limit"` // from which on the GPU should be replaced
}

// Fabric is how a GPU is in the NVLink fabric.
type Fabric struct {
	State      *string  `json:"state"`      // null: it is in none, or nothing is known
	Conditions []string `json:"conditions"` // that hold now
}
