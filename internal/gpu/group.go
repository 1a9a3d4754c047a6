// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// Group is a set of quantities. A source reads a group only if an enabled metric or event needs it (record.Wanted).
type Group uint64

// The groups. A source reads the quantities of a group together.
const (
	GroupUtilization      Group = 1 << iota // general and memory controller
	GroupMediaUtilization                   // encoder, decoder, JPEG, optical flow, media
	GroupXCCUtilization
	GroupEncoderSessions
	GroupFrameBufferCapture
	GroupMemory
	GroupProtectedMemory
	GroupTemperature
	GroupTemperatureLimits
	GroupTemperatureDetail // stacks of memory, voltage regulators
	GroupVoltage
	GroupPower
	GroupPowerDetail // power of the moment, of the module and of memory
	GroupPowerLimit
	GroupEnergy
	GroupClocks
	GroupClockLimits
	GroupThrottle
	GroupThrottleTime
	GroupPerformanceState
	GroupFans
	GroupFanSpeed // revolutions
	GroupModes
	GroupPendingModes // that change at a reset or a restart
	GroupVGPULicense
	GroupPCIeIO
	GroupPCIeLink
	GroupPCIeReplay
	GroupPCIeErrors // AER, which internal/pci reads
	GroupPCIeDetail // NAKs, rollovers, recoveries
	GroupBAR1
	GroupInterconnect // bytes over all links
	GroupInterconnectErrors
	GroupInterconnectLinks     // bytes and errors of single links
	GroupInterconnectState     // whether links are up
	GroupInterconnectSpeed     // speed and width of links
	GroupInterconnectBitErrors // bit error ratios, forward error correction
	GroupFabric
	GroupPeers
	GroupECC
	GroupECCLifetime
	GroupECCMemory    // SRAM apart from DRAM, and whether SRAM exceeds its threshold
	GroupECCLocations // single memories of the chip
	GroupRemappedRows // and retired pages, bad pages
	GroupMemoryBanks  // their spare rows
	GroupPipes
	GroupRecovery
	GroupProcesses
	GroupProcessUtilization
	GroupProcessTimes // of copy engines, and without permission to run
	GroupEvents

	GroupAll Group = 1<<iota - 1
)

// Has reports whether g has any of the groups.
func (g Group) Has(any Group) bool { return g&any != 0 }
