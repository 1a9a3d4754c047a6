// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

// addAPU adds the revisions of APUs. Up to 2.4 the header does not say in which unit temperatures, activities and power are, and
// the ASICs differ. Temperatures and activities are left to the plain files; Table.GFXPower finds out the unit of power.
func addAPU(add func(format, content uint8, partition *layout, fields ...[]field)) {
	add(2, 0, nil, []field{u64(fieldClockCounter)}, temperatures2(),
		[]field{u16s(fieldNone, 2)}, power2(), clocks2(), []field{pad16(1)})
	add(2, 1, nil, head2(), power2(), clocks2(), []field{pad16(3)})
	add(2, 2, nil, head2(), power2(), clocks2(), []field{pad16(3), u64(fieldThrottle)})
	add(2, 3, nil, head2(), power2(), clocks2(), []field{pad16(3), u64(fieldThrottle), u16s(fieldNone, 12)})
	add(2, 4, nil, head2(), power2(), clocks2(),
		[]field{pad16(3), u64(fieldThrottle), u16s(fieldNone, 12), u16(fieldNone), u16(fieldVoltageSoC), u16(fieldVoltageGFX), u16s(fieldNone, 3)})
	add(3, 0, nil, []field{
		u16s(fieldNone, 2), u16s(fieldNone, 16), u16(fieldNone), // temperatures
		u16(fieldGFXActivity), u16(fieldVideo), u16s(fieldNone, 8), u16s(fieldNone, 16), u16s(fieldNone, 4),
		u64(fieldClockCounter),
		u32(fieldSocketPower), u16(fieldNone), u32(fieldNone), u32(fieldGFXPower), u32(fieldNone), u32(fieldNone),
		u16s(fieldNone, 16), u16(fieldNone), u16s(fieldNone, 2),
		u16(fieldGFXClock), u16s(fieldNone, 4), u16(fieldVideoClock), u16(fieldMemoryClock), u16(fieldNone),
		u16s(fieldNone, 16), u16s(fieldNone, 2), // cores, limits
		u32s(fieldLimiterCounts, int(NumAPULimiters)),
		u32(fieldNone), // the filter's constant
	})
}

func temperatures2() []field {
	return []field{u16s(fieldNone, 2), u16s(fieldNone, 8), u16s(fieldNone, 2)}
}

func head2() []field {
	return append(temperatures2(), u16s(fieldNone, 2), u64(fieldClockCounter))
}

// power2: the socket, CPU, SoC and GFX, then the cores.
func power2() []field {
	return []field{u16(fieldSocketPower), u16s(fieldNone, 2), u16(fieldGFXPower), u16s(fieldNone, 8)}
}

// clocks2: the averages of gfx, soc, u, f, v and d, then the current speeds; cores, caches; throttle status of the ASIC; fan.
func clocks2() []field {
	return []field{
		u16s(fieldNone, 6),
		u16(fieldGFXClock), u16(fieldNone), u16(fieldMemoryClock), u16(fieldNone), u16(fieldVideoClock), u16(fieldNone),
		u16s(fieldNone, 8), u16s(fieldNone, 2), u32(fieldNone), u16(fieldNone),
	}
}
