// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

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

// maxLabels is how many labels a metric has at most.
const maxLabels = 3

// metric is one line of the table.
type metric struct {
	id metricID
	of subject
	// labels are the attributes that tell the points of one subject apart.
	labels []string
}

// metrics is the table of what is shown. Everything else in a message is ignored.
var metrics = map[string]metric{
	"hw.gpu.count":           {nodeCount, ofNode, []string{"hw.gpu.presence", "hw.vendor"}},
	"hw.gpu.source.readable": {sourceReadable, ofNode, []string{"hw.gpu.source.name", "hw.vendor"}},
	"hw.gpu.source.failure":  {sourceFailure, ofNode, []string{"hw.gpu.source.name", "hw.vendor", "error.type"}},

	"hw.gpu.info": {deviceInfo, ofIdentity, nil},

	"hw.status":                            {deviceStatus, ofDevice, []string{"hw.state"}},
	"hw.gpu.fault":                         {deviceFault, ofDevice, []string{"error.type"}},
	"hw.gpu.recovery.action":               {deviceRecovery, ofDevice, []string{"hw.gpu.recovery.action"}},
	"hw.gpu.utilization":                   {deviceUtilization, ofDevice, []string{"hw.gpu.task"}},
	"hw.gpu.memory.controller.utilization": {memoryController, ofDevice, nil},
	"hw.gpu.memory.limit":                  {memoryLimit, ofDevice, nil},
	"hw.gpu.memory.usage":                  {memoryUsage, ofDevice, nil},
	"hw.gpu.memory.reserved":               {memoryReserved, ofDevice, nil},
	"hw.temperature":                       {temperature, ofDevice, []string{"hw.sensor_location"}},
	"hw.temperature.limit":                 {temperatureLimit, ofDevice, []string{"hw.sensor_location", "hw.limit_type"}},
	"hw.gpu.temperature.margin":            {temperatureMargin, ofDevice, []string{"hw.limit_type"}},
	"hw.power":                             {power, ofDevice, nil},
	"hw.power.limit":                       {powerLimit, ofDevice, []string{"hw.limit_type"}},
	"hw.energy":                            {energy, ofDevice, nil},
	"hw.gpu.speed":                         {clock, ofDevice, []string{"hw.gpu.clock_domain"}},
	"hw.gpu.performance_state":             {performanceState, ofDevice, nil},
	"hw.fan.speed_ratio":                   {fanSpeed, ofDevice, []string{"hw.sensor_location"}},
	"hw.gpu.throttled":                     {throttled, ofDevice, []string{"hw.gpu.throttle.reason"}},
	"hw.gpu.throttle.time":                 {throttleTime, ofDevice, []string{"hw.gpu.throttle.reason"}},
	"hw.gpu.pcie.generation":               {pcieGeneration, ofDevice, nil},
	"hw.gpu.pcie.generation.limit":         {pcieGenerationLimit, ofDevice, nil},
	"hw.gpu.pcie.width":                    {pcieWidth, ofDevice, nil},
	"hw.gpu.pcie.width.limit":              {pcieWidthLimit, ofDevice, nil},
	"hw.gpu.pcie.replays":                  {pcieReplays, ofDevice, nil},
	"hw.gpu.io":                            {pcieIO, ofDevice, []string{"network.io.direction"}},
	"hw.gpu.pcie.errors":                   {pcieErrors, ofDevice, []string{"error.type", "hw.gpu.pcie.device"}},
	"hw.gpu.interconnect.io":               {interconnectIO, ofDevice, []string{"hw.gpu.interconnect.type", "network.io.direction"}},
	"hw.gpu.interconnect.errors":           {interconnectErrors, ofDevice, []string{"hw.gpu.interconnect.type", "error.type"}},
	"hw.gpu.interconnect.link.count":       {interconnectLinks, ofDevice, []string{"hw.gpu.interconnect.type", "hw.gpu.interconnect.link_state"}},
	"hw.gpu.fabric.state":                  {fabricState, ofDevice, []string{"hw.gpu.fabric.state"}},
	"hw.gpu.fabric.condition":              {fabricCondition, ofDevice, []string{"hw.gpu.fabric.condition"}},
	"hw.errors":                            {memoryErrors, ofDevice, []string{"error.type", "hw.gpu.error.block"}},
	"hw.gpu.xids":                          {xids, ofDevice, []string{"hw.gpu.xid"}},
	"hw.gpu.memory.row.remapped":           {rowsRemapped, ofDevice, []string{"error.type"}},
	"hw.gpu.memory.page.retired":           {pagesRetired, ofDevice, []string{"error.type"}},
	"hw.gpu.memory.remap.state":            {remapState, ofDevice, []string{"hw.gpu.remap.state"}},
	"hw.gpu.memory.bank.count":             {memoryBanks, ofDevice, []string{"hw.gpu.memory.bank.spares"}},
	"hw.gpu.memory.page.bad":               {badPages, ofDevice, nil},
	"hw.gpu.memory.page.bad.limit":         {badPageLimit, ofDevice, nil},
	"hw.gpu.mode.pending":                  {modePending, ofDevice, []string{"hw.gpu.mode.name"}},
	"hw.gpu.allocated":                     {deviceAllocated, ofDevice, nil},

	"process.gpu.info":                          {processInfo, ofProcess, nil},
	"process.gpu.memory.usage":                  {processMemory, ofProcess, nil},
	"process.gpu.utilization":                   {processUtilization, ofProcess, []string{"hw.gpu.task"}},
	"process.gpu.memory.controller.utilization": {processMemoryController, ofProcess, nil},
	"process.gpu.media.utilization":             {processMedia, ofProcess, []string{"hw.gpu.task"}},

	"container.gpu.allocated":    {containerAllocated, ofContainer, nil},
	"container.gpu.memory.usage": {containerMemory, ofContainer, nil},
	"container.gpu.memory.limit": {containerMemoryLimit, ofContainer, nil},
	"container.gpu.utilization":  {containerUtilization, ofContainer, []string{"hw.gpu.task"}},
	"container.gpu.power":        {containerPower, ofContainer, nil},
	"container.gpu.energy":       {containerEnergy, ofContainer, nil},
	"container.gpu.idle.time":    {containerIdle, ofContainer, nil},
	"container.gpu.share":        {containerShare, ofContainer, nil},
}
