// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "math"

// metricID is a metric that is shown.
type metricID uint8

const (
	nodeCount metricID = iota + 1
	sourceReadable
	sourceFailure
	deviceInfo
	deviceStatus
	deviceFault
	deviceRecovery
	deviceUtilization
	memoryController
	memoryLimit
	memoryUsage
	memoryReserved
	temperature
	temperatureLimit
	temperatureMargin
	power
	powerLimit
	energy
	clock
	performanceState
	fanSpeed
	throttled
	throttleTime
	pcieGeneration
	pcieGenerationLimit
	pcieWidth
	pcieWidthLimit
	pcieReplays
	pcieIO
	pcieErrors
	interconnectIO
	interconnectErrors
	interconnectLinks
	memoryErrors
	xids
	rowsRemapped
	pagesRetired
	remapState
	memoryBanks
	badPages
	badPageLimit
	fabricState
	fabricCondition
	modePending
	deviceAllocated
	processInfo
	processMemory
	processUtilization
	processMemoryController
	processMedia
	containerAllocated
	containerMemory
	containerMemoryLimit
	containerUtilization
	containerPower
	containerEnergy
	containerIdle
	containerShare
)

// subject is what the points of a metric describe.
type subject uint8

const (
	ofNode     subject = iota // or of a cluster
	ofIdentity                // hw.gpu.info, which makes a device known
	ofDevice
	ofProcess
	ofContainer
)

// bounds are the least and the greatest value that a metric can have. They are wide: what is beyond them is an error of the sender, or garbage.
type bounds struct{ least, most float64 }

func (b bounds) have(value float64) bool { return b.least <= value && value <= b.most } // false for NaN

var (
	ratio   = bounds{0, 1}             // also what is 1 if it holds now, else 0
	count   = bounds{0, math.MaxInt32} // what there is now
	counter = bounds{0, 1 << 63}       // what only grows; an integer of OTLP is smaller
	size    = bounds{0, 1 << 50}       // bytes of a memory
	watts   = bounds{0, 1e6}
	hertz   = bounds{0, 1e12}
	celsius = bounds{-273.15, 1000}
	margin  = bounds{-1000, 1000} // of two temperatures
)

// maxLabels is how many labels a metric has at most.
const maxLabels = 3

// metric is one line of the table.
type metric struct {
	id metricID
	of subject
	bounds
	// labels are the attributes that tell the points of one subject apart.
	labels []string
}

// metrics is the table of what is shown. Everything else in a message is ignored.
var metrics = map[string]metric{
	"hw.gpu.count":           {nodeCount, ofNode, count, []string{"hw.gpu.presence", "hw.vendor"}},
	"hw.gpu.source.readable": {sourceReadable, ofNode, ratio, []string{"hw.gpu.source.name", "hw.vendor"}},
	"hw.gpu.source.failure":  {sourceFailure, ofNode, ratio, []string{"hw.gpu.source.name", "hw.vendor", "error.type"}},

	"hw.gpu.info": {deviceInfo, ofIdentity, ratio, nil},

	"hw.status":                            {deviceStatus, ofDevice, ratio, []string{"hw.state"}},
	"hw.gpu.fault":                         {deviceFault, ofDevice, ratio, []string{"error.type"}},
	"hw.gpu.recovery.action":               {deviceRecovery, ofDevice, ratio, []string{"hw.gpu.recovery.action"}},
	"hw.gpu.utilization":                   {deviceUtilization, ofDevice, ratio, []string{"hw.gpu.task"}},
	"hw.gpu.memory.controller.utilization": {memoryController, ofDevice, ratio, nil},
	"hw.gpu.memory.limit":                  {memoryLimit, ofDevice, size, nil},
	"hw.gpu.memory.usage":                  {memoryUsage, ofDevice, size, nil},
	"hw.gpu.memory.reserved":               {memoryReserved, ofDevice, size, nil},
	"hw.temperature":                       {temperature, ofDevice, celsius, []string{"hw.sensor_location"}},
	"hw.temperature.limit":                 {temperatureLimit, ofDevice, celsius, []string{"hw.sensor_location", "hw.limit_type"}},
	"hw.gpu.temperature.margin":            {temperatureMargin, ofDevice, margin, []string{"hw.limit_type"}},
	"hw.power":                             {power, ofDevice, watts, nil},
	"hw.power.limit":                       {powerLimit, ofDevice, watts, []string{"hw.limit_type"}},
	"hw.energy":                            {energy, ofDevice, counter, nil},
	"hw.gpu.speed":                         {clock, ofDevice, hertz, []string{"hw.gpu.clock_domain"}},
	"hw.gpu.performance_state":             {performanceState, ofDevice, count, nil},
	"hw.fan.speed_ratio":                   {fanSpeed, ofDevice, ratio, []string{"hw.sensor_location"}},
	"hw.gpu.throttled":                     {throttled, ofDevice, ratio, []string{"hw.gpu.throttle.reason"}},
	"hw.gpu.throttle.time":                 {throttleTime, ofDevice, counter, []string{"hw.gpu.throttle.reason"}},
	"hw.gpu.pcie.generation":               {pcieGeneration, ofDevice, count, nil},
	"hw.gpu.pcie.generation.limit":         {pcieGenerationLimit, ofDevice, count, nil},
	"hw.gpu.pcie.width":                    {pcieWidth, ofDevice, count, nil},
	"hw.gpu.pcie.width.limit":              {pcieWidthLimit, ofDevice, count, nil},
	"hw.gpu.pcie.replays":                  {pcieReplays, ofDevice, counter, nil},
	"hw.gpu.io":                            {pcieIO, ofDevice, counter, []string{"network.io.direction"}},
	"hw.gpu.pcie.errors":                   {pcieErrors, ofDevice, counter, []string{"error.type", "hw.gpu.pcie.device"}},
	"hw.gpu.interconnect.io":               {interconnectIO, ofDevice, counter, []string{"hw.gpu.interconnect.type", "network.io.direction"}},
	"hw.gpu.interconnect.errors":           {interconnectErrors, ofDevice, counter, []string{"hw.gpu.interconnect.type", "error.type"}},
	"hw.gpu.interconnect.link.count":       {interconnectLinks, ofDevice, count, []string{"hw.gpu.interconnect.type", "hw.gpu.interconnect.link_state"}},
	"hw.gpu.fabric.state":                  {fabricState, ofDevice, ratio, []string{"hw.gpu.fabric.state"}},
	"hw.gpu.fabric.condition":              {fabricCondition, ofDevice, ratio, []string{"hw.gpu.fabric.condition"}},
	"hw.errors":                            {memoryErrors, ofDevice, counter, []string{"error.type", "hw.gpu.error.block"}},
	"hw.gpu.xids":                          {xids, ofDevice, counter, []string{"hw.gpu.xid"}},
	"hw.gpu.memory.row.remapped":           {rowsRemapped, ofDevice, counter, []string{"error.type"}},
	"hw.gpu.memory.page.retired":           {pagesRetired, ofDevice, counter, []string{"error.type"}},
	"hw.gpu.memory.remap.state":            {remapState, ofDevice, ratio, []string{"hw.gpu.remap.state"}},
	"hw.gpu.memory.bank.count":             {memoryBanks, ofDevice, count, []string{"hw.gpu.memory.bank.spares"}},
	"hw.gpu.memory.page.bad":               {badPages, ofDevice, counter, nil},
	"hw.gpu.memory.page.bad.limit":         {badPageLimit, ofDevice, counter, nil},
	"hw.gpu.mode.pending":                  {modePending, ofDevice, ratio, []string{"hw.gpu.mode.name"}},
	"hw.gpu.allocated":                     {deviceAllocated, ofDevice, count, nil},

	"process.gpu.info":                          {processInfo, ofProcess, ratio, nil},
	"process.gpu.memory.usage":                  {processMemory, ofProcess, size, nil},
	"process.gpu.utilization":                   {processUtilization, ofProcess, ratio, []string{"hw.gpu.task"}},
	"process.gpu.memory.controller.utilization": {processMemoryController, ofProcess, ratio, nil},
	"process.gpu.media.utilization":             {processMedia, ofProcess, ratio, []string{"hw.gpu.task"}},

	"container.gpu.allocated":    {containerAllocated, ofContainer, count, nil},
	"container.gpu.memory.usage": {containerMemory, ofContainer, size, nil},
	"container.gpu.memory.limit": {containerMemoryLimit, ofContainer, size, nil},
	"container.gpu.utilization":  {containerUtilization, ofContainer, ratio, []string{"hw.gpu.task"}},
	"container.gpu.power":        {containerPower, ofContainer, watts, nil},
	"container.gpu.energy":       {containerEnergy, ofContainer, counter, nil},
	"container.gpu.idle.time":    {containerIdle, ofContainer, counter, nil},
	"container.gpu.share":        {containerShare, ofContainer, ratio, nil},
}
