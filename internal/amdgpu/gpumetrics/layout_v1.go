// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

// revisionSize is a revision and the size that its header gives. The size is part of it: 1.8 has two, since later kernels count one
// more thing of each partition.
type revisionSize struct {
	Revision
	size int
}

// newLayouts returns the layouts of the revisions whose fields the kernel documents. 1.9 is not among them: it describes itself,
// see v1_9.go.
func newLayouts() map[revisionSize]*layout {
	result := map[revisionSize]*layout{}
	add := func(format, content uint8, partition *layout, fields ...[]field) {
		l := newLayout(append([][]field{head()}, fields...)...)
		l.partition = partition
		result[revisionSize{Revision{format, content}, l.size}] = l
	}
	partition6 := newLayout(activityHead(32), []field{u64s(fieldNone, 8)})
	partition7 := newLayout(activityHead(32), []field{u64s(fieldNone, 2*8)})
	partition8 := newLayout(activityHead(40), hostLimits())
	partition8b := newLayout(activityHead(40), hostLimits(), allHostLimits())

	add(1, 0, nil, []field{u64(fieldClockCounter)}, sensors1(), []field{u16(fieldAveragePower), u32(fieldEnergy)}, clocks1(),
		[]field{u32(fieldNone), u16(fieldNone), u8(fieldLinkWidth), u8(fieldLinkSpeed)})
	add(1, 1, nil, sensors1(), energy1(), clocks1(), tail1())
	add(1, 2, nil, sensors1(), energy1(), clocks1(), tail1(), []field{u64(fieldNone)})
	add(1, 3, nil, sensors1(), energy1(), clocks1(), tail1(),
		[]field{u64(fieldNone), u16(fieldVoltageSoC), u16(fieldVoltageGFX), u16(fieldVoltageMemory), pad16(1), u64(fieldThrottle)})
	add(1, 4, nil, sensors4(), []field{u16s(fieldVideo, 4)}, energy4(), links4(), xgmi4(), clocks4(), []field{pad16(1)})
	add(1, 5, nil, sensors4(), []field{u16s(fieldVideo, 4), u16s(fieldJPEG, 32)}, energy4(), links4(), naks(), xgmi4(), clocks4(),
		[]field{pad16(1)})
	add(1, 6, partition6, sensors4(), []field{u64(fieldEnergy)}, residencies(), links4(), naks(), xgmi4(), clocks4(), activities(partition6))
	for content, sizes := range map[uint8][]*layout{7: {partition7}, 8: {partition8, partition8b}} {
		for _, p := range sizes {
			add(1, content, p, sensors4(), []field{u64(fieldNone), u64(fieldEnergy)}, residencies(), links4(), naks(), xgmi7(),
				clocks4(), activities(p))
		}
	}
	addAPU(add)
	return result
}

// hasLayout reports whether a revision is known in some size.
func hasLayout(layouts map[revisionSize]*layout, r Revision) bool {
	for l := range layouts {
		if l.Revision == r {
			return true
		}
	}
	return false
}

// energy4: the throttle status is left out, since the driver of the only GPUs with these revisions writes 0 there.
func energy4() []field {
	return []field{u64(fieldEnergy), u64(fieldClockCounter), u32(fieldNone), u32(fieldNone)}
}

// activities: the number of partitions, the activity of each, the recoveries of the other end of the PCIe link.
func activities(partition *layout) []field {
	return []field{u16(fieldPartitions), structs(fieldActivity, partition, MaxPartitions), u32(fieldNone)}
}

// head is the size of the table and its revision, which Decode reads first.
func head() []field { return []field{u16(fieldNone), u8(fieldNone), u8(fieldNone)} }

// sensors1: temperatures in °C, activities in percent.
func sensors1() []field {
	return []field{
		u16(fieldEdge), u16(fieldHotspot), u16(fieldMemory), u16(fieldVRGFX), u16(fieldVRSoC), u16(fieldVRMemory),
		u16(fieldGFXActivity), u16(fieldUMCActivity), u16(fieldVideo),
	}
}

func energy1() []field {
	return []field{u16(fieldAveragePower), u64(fieldEnergy), u64(fieldClockCounter)}
}

// clocks1: the averages of gfx, soc, u, v0, d0, v1 and d1, then the current speeds, in MHz.
func clocks1() []field {
	return []field{
		u16s(fieldNone, 7),
		u16(fieldGFXClock), u16(fieldNone), u16(fieldMemoryClock), u16(fieldVideoClock), u16s(fieldNone, 3),
	}
}

// tail1: the throttle status of the ASIC's own bits, the fan's RPM, the link in lanes and 0.1 GT/s, activity accumulators, HBM.
func tail1() []field {
	return []field{
		u32(fieldNone), u16(fieldNone), u16(fieldLinkWidth), u16(fieldLinkSpeed), pad16(1),
		u32(fieldNone), u32(fieldNone), u16s(fieldHBM, 4),
	}
}

func sensors4() []field {
	return []field{
		u16(fieldHotspot), u16(fieldMemory), u16(fieldVRSoC), u16(fieldCurrentPower),
		u16(fieldGFXActivity), u16(fieldUMCActivity),
	}
}

// links4: PCIe and XGMI width and speed, accumulated activities, PCIe bandwidth, recoveries, replays and their rollovers. The PCIe
// bandwidth is left out: it is a sum of samples in GB/s at an undocumented pace, not a count of bytes.
func links4() []field {
	return []field{
		u16(fieldLinkWidth), u16(fieldLinkSpeed), u16(fieldXGMIWidth), u16(fieldXGMISpeed), u32(fieldNone), u32(fieldNone),
		u64(fieldNone), u64(fieldNone), u64(fieldRecoveries), u64(fieldReplays), u64(fieldRollovers),
	}
}

func naks() []field { return []field{u32(fieldNAKsSent), u32(fieldNAKsReceived)} }

// xgmi4: the KiB read and written over each link, and the firmware's time.
func xgmi4() []field {
	return []field{u64s(fieldXGMIRead, 8), u64s(fieldXGMIWrite, 8), u64(fieldNone)}
}

// xgmi7 also has the states of the links.
func xgmi7() []field {
	return []field{u64s(fieldXGMIRead, 8), u64s(fieldXGMIWrite, 8), u16s(fieldXGMIStatus, 8), pad16(1), u64(fieldNone)}
}

// clocks4: gfx by XCC, soc, v0 and d0 by instance, u.
func clocks4() []field {
	return []field{
		u16s(fieldGFXClock, 8), u16s(fieldNone, 4), u16s(fieldVideoClock, 4), u16s(fieldNone, 4), u16(fieldMemoryClock),
	}
}

// residencies: the driver's clock, how often the firmware checked, how often it found each limiter active, the clock locks.
func residencies() []field {
	return []field{
		u64(fieldClockCounter), u32(fieldAccumulations),
		u32(fieldProchot), u32(fieldPPT), u32(fieldSocketThermal), u32(fieldVRThermal), u32(fieldHBMThermal), u32(fieldNone),
	}
}

// activityHead begins what a table says of a partition: the activity of each XCC, JPEG engine and VCN, in percent.
func activityHead(jpegs int) []field {
	return []field{{id: fieldGFXActivity, size: 4, count: maxPartitionXCCs}, u16s(fieldJPEG, jpegs), u16s(fieldVideo, 4)}
}

// newPartitionLayout returns the layout of the table of a single partition, revision 1.0: its clocks, then its activity.
func newPartitionLayout() *layout {
	return newLayout(head(), clocks4(), []field{pad16(1)}, activityHead(40), hostLimits(), allHostLimits())
}

// hostLimits are fields of each partition, from table 1.8 on. For each XCC they have the accumulated activity, how often its clock was below
// the limit of the host because of power and because of heat, and how often it was low because there was little to do.
func hostLimits() []field {
	return []field{
		u64s(fieldNone, maxPartitionXCCs), u64s(fieldBelowPower, maxPartitionXCCs), u64s(fieldBelowThermal, maxPartitionXCCs),
		u64s(fieldLowUse, maxPartitionXCCs),
	}
}

// allHostLimits follows in later kernels: how often the clock was below the limit of the host at all.
func allHostLimits() []field { return []field{u64s(fieldNone, maxPartitionXCCs)} }
