// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// Group is a set of quantities. A source reads a group only if an enabled metric or event needs it (record.Wanted).
type Group uint64

// The groups. A source reads the quantities of a group together.
const (
	GroupUtilization      Group = 1 << iota // general and memory controller
	GroupMediaUtilization                   // encoder, decoder, JPEG, optical flow
	GroupMemory
	GroupProtectedMemory
	GroupTemperature
	GroupTemperatureLimits
	GroupPower
	GroupPowerDetail // instantaneous and module power
	GroupPowerLimit
	GroupEnergy
	GroupClocks
	GroupClockLimits
	GroupThrottle
	GroupThrottleTime
	GroupPerformanceState
	GroupFans
	GroupPCIeIO
	GroupPCIeLink
	GroupPCIeReplay
	GroupInterconnect // bytes over all links
	GroupInterconnectErrors
	GroupInterconnectLinks
	GroupECC
	GroupECCLifetime
	GroupRemappedRows // and retired pages
	GroupPipes
	GroupRecovery
	GroupProcesses
	GroupProcessUtilization
	GroupEvents

	GroupAll Group = 1<<iota - 1
)

// Has reports whether g has any of the groups.
func (g Group) Has(any Group) bool { return g&any != 0 }
