// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import "fmt"

// mi300x returns one MI300X, not divided.
func mi300x(i int) *Card {
	c := blank(1+i, fmt.Sprintf("%04x:%02x:00.0", 0, 0x05+0x20*i))
	c.Device, c.Subsystem = 0x74a1, 0x74a1
	c.UniqueID = 0xa1b2c3d4e5f60000 + uint64(i)
	c.Serial, c.VBIOS, c.Product = fmt.Sprintf("69230500%04d", 17+i), "113-M3000100-102", "AMD Instinct MI300X OAM"
	c.Part = "102-G31410-0D"
	c.NUMANode = i / 4
	c.HiveID = 0x1e2f3a4b5c6d7081
	r := &c.Readings
	r.Busy, r.MemoryBusy = 35+5*i, 21
	r.VRAM, r.VRAMUsed = 206141652992, 61_000_000_000
	r.Visible, r.VisibleUsed = r.VRAM, r.VRAMUsed
	r.GTT, r.GTTUsed = 1007*gib, 31_000_000
	r.Junction, r.Memory = 44000+1000*i, 38000
	r.JunctionLimits = Limits{Critical: 100000, Hysteresis: -273150, Emergency: 105000}
	r.MemoryLimit = Limits{Critical: 105000, Hysteresis: -273150, Emergency: 110000}
	r.Instant, r.Cap, r.CapMax = 318_000_000, 750_000_000, 750_000_000
	r.Graphics, r.MemoryClock = 1_210_000_000, 900_000_000
	r.GraphicsLevels, r.GraphicsLevel = []int{132, 1210, 2100}, 1
	r.MemoryLevels, r.MemoryLevel = []int{900, 1100, 1200, 1300}, 0
	r.VideoLevels, r.DataLevels, r.SOCLevels, r.FabricLevels = []int{29, 800}, []int{22, 700}, []int{28, 1143}, []int{1200, 2000}
	r.Speed, r.MaxSpeed, r.Width, r.MaxWidth = "32.0 GT/s PCIe", "32.0 GT/s PCIe", 16, 16
	r.Replays = 1
	c.Target, c.SIMDs, c.XCCs = 90402, 1216, 8
	c.Compute, c.MemoryMode = "SPX", "NPS1"
	c.RAS = []Block{{"umc", 0, 12, 4}, {"sdma", 0, 0, None}, {"gfx", 0, 0, None}, {"mmhub", 0, 0, None}, {"pcie_bif", 0, 0, None}, {"xgmi_wafl", 0, 0, None}}
	c.Partitions = []Partition{{GPUID: 41001 + uint32(i)*100, Memory: r.VRAM, Used: r.VRAMUsed}}
	return c
}

// MI300XSPX is a machine with two MI300X that are not divided, and the table of revision 1.6.
func MI300XSPX() *Machine {
	m := &Machine{Name: "mi300x-spx", Driver: "6.12.12", Kernel: "6.8.0-60-generic"}
	for i := range 2 {
		c := mi300x(i)
		table := Blank(&MetricsV1x6{}, 1, 6)
		table.Sensors4 = Sensors4{
			Hotspot: uint16(c.Readings.Junction / 1000), Memory: 38, VRSoc: 51, SocketPower: 318,
			GfxActivity: uint16(c.Readings.Busy), UMCActivity: 21,
		}
		table.Energy = 1_234_567_890_123
		table.Residencies = Residencies{
			SystemClock: 7_200_000_000_000, Accumulations: 3_600_000, Prochot: 0, PPT: 40_000, SocketThermal: 12, VRThermal: 0, HBMTemp: 0,
		}
		table.LinkWidth, table.LinkSpeed, table.XGMIWidth, table.XGMISpeed = 16, 320, 16, 32
		table.GfxActivityAcc, table.MemActivityAcc = 50_000, 20_000
		table.PCIe4 = PCIe4{BandwidthAcc: 1_000_000, BandwidthInst: 120, L0ToRecovery: 1, Replays: 1, ReplayRollovers: 0}
		table.NAKSent, table.NAKReceived = 0, 0
		for l := range table.XGMIRead {
			table.XGMIRead[l], table.XGMIWritten[l] = uint64(1_000_000+l*1000), uint64(2_000_000+l*1000)
		}
		table.XGMIRead[i], table.XGMIWritten[i] = ^uint64(0), ^uint64(0) // a GPU has no link to itself
		table.FirmwareTime = 720_000_000_000
		for x := range table.GfxClk {
			table.GfxClk[x] = 1210 - uint16(x)
		}
		for x := range table.SocClk {
			table.SocClk[x], table.VClk0[x], table.DClk0[x] = 28, 29, 22
		}
		table.UClk, table.Partitions = 900, 1
		s := &table.Shares[0]
		for x := range s.GfxBusy {
			s.GfxBusy[x], s.GfxBusyAcc[x] = uint32(c.Readings.Busy), uint64(90_000+x)
		}
		for x := range 4 {
			s.VCN[x] = uint16(3 * x)
		}
		for x := range s.JPEG {
			s.JPEG[x] = uint16(x % 2 * 10)
		}
		table.Recoveries = 0
		c.Metrics = table
		m.Cards = append(m.Cards, c)
	}
	m.Processes = []Process{
		trainer(7001, m.Cards[0], 0, 33, 60_000_000_000, 152),
		trainer(7002, m.Cards[1], 0, 44, 30_000_000_000, 304),
	}
	return m
}

// MI300XEarlier is a machine with two MI300X under a driver of ROCm 6.1, with the table of revision 1.5.
func MI300XEarlier() *Machine {
	m := MI300XSPX()
	m.Name, m.Driver = "mi300x-1.5", "6.7.8"
	for _, c := range m.Cards {
		later := c.Metrics.(*MetricsV1x6)
		table := Blank(&MetricsV1x5{}, 1, 5)
		table.Sensors4, table.Links4, table.PCIe4, table.Clocks4 = later.Sensors4, later.Links4, later.PCIe4, later.Clocks4
		table.VCN, table.JPEG = later.Shares[0].VCN, later.Shares[0].JPEG
		table.Energy, table.SystemClock, table.FirmwareTime = later.Energy, later.SystemClock, later.FirmwareTime
		table.Throttle = 0 // which the driver always writes
		table.NAKSent, table.NAKReceived = 0, 0
		table.XGMIRead, table.XGMIWritten = later.XGMIRead, later.XGMIWritten
		c.Metrics = table
	}
	return m
}

// MI300XCPX is a machine with one MI300X that is divided into eight partitions, and the table of revision 1.8.
func MI300XCPX() *Machine {
	m := &Machine{Name: "mi300x-cpx", Driver: "6.14.14", Kernel: "6.8.0-79-generic"}
	c := mi300x(0)
	c.Compute, c.MemoryMode = "CPX", "NPS4"
	c.BadPages, c.BadPageLimit = 150, 256
	c.Partitions = nil
	for i := range 8 {
		p := Partition{GPUID: 41001 + uint32(i), Memory: c.Readings.VRAM / 8, Used: 1_000_000_000 * int64(i+1)}
		if i > 0 {
			p.XCP, p.Number = fmt.Sprintf("amdgpu_xcp_%d", i), 1+i
		}
		c.Partitions = append(c.Partitions, p)
	}
	c.Readings.VRAMUsed = 36_000_000_000
	table := Blank(&MetricsV1x8{}, 1, 8)
	table.Sensors4 = Sensors4{Hotspot: 44, Memory: 38, VRSoc: 51, SocketPower: 318, GfxActivity: 35, UMCActivity: 21}
	table.MaxBandwidth, table.Energy = 5300, 1_234_567_890_123
	table.Residencies = Residencies{SystemClock: 7_200_000_000_000, Accumulations: 3_600_000, PPT: 40_000, SocketThermal: 12}
	table.LinkWidth, table.LinkSpeed, table.XGMIWidth, table.XGMISpeed = 16, 320, 16, 32
	table.GfxActivityAcc, table.MemActivityAcc = 50_000, 20_000
	table.PCIe4 = PCIe4{BandwidthAcc: 1_000_000, BandwidthInst: 120, L0ToRecovery: 1, Replays: 1}
	table.NAKSent, table.NAKReceived = 0, 0
	for l := range table.XGMIRead {
		table.XGMIRead[l], table.XGMIWritten[l], table.XGMIStatus[l] = uint64(1_000_000+l*1000), uint64(2_000_000+l*1000), 1
	}
	table.XGMIStatus[0], table.XGMIStatus[5] = 2, 0 // a GPU has no link to itself; one is down
	table.FirmwareTime = 720_000_000_000
	for x := range table.GfxClk {
		table.GfxClk[x] = 1210 - uint16(x)
	}
	for x := range table.SocClk {
		table.SocClk[x], table.VClk0[x], table.DClk0[x] = 28, 29, 22
	}
	table.UClk, table.Partitions = 900, 8
	for i := range table.Shares {
		s := &table.Shares[i]
		s.GfxBusy[0], s.GfxBusyAcc[0] = uint32(10*i), uint64(10_000*i)
		s.BelowPPT[0], s.BelowThermal[0], s.LowUse[0], s.BelowAny[0] = 0, 0, 0, 0
		s.VCN[0] = uint16(i)
		for x := range 4 {
			s.JPEG[x] = uint16(5 * i)
		}
	}
	table.Recoveries = 0
	c.Metrics = table
	m.Cards = []*Card{c}
	m.Processes = []Process{
		trainer(8000, c, 0, 31, 900_000_000, 19),
		trainer(8003, c, 3, 34, 3_500_000_000, 38),
	}
	return m
}

// MI300XNode is a machine with up to eight MI300X without processes, whole or divided into eight partitions each.
func MI300XNode(gpus int, divided bool) *Machine {
	m := &Machine{Name: "mi300x-node", Driver: "6.12.12", Kernel: "6.8.0-60-generic"}
	build := MI300XSPX
	if divided {
		build = MI300XCPX
	}
	for i := range gpus {
		c := build().Cards[0]
		c.Number = 8 * i
		c.Address = fmt.Sprintf("0000:%02x:00.0", 5+0x10*i)
		c.UniqueID += uint64(i)
		for p := range c.Partitions {
			c.Partitions[p].GPUID = uint32(1000 + 10*i + p)
			if p > 0 {
				c.Partitions[p].XCP, c.Partitions[p].Number = fmt.Sprintf("amdgpu_xcp_%d", 8*i+p), 8*i+p
			}
		}
		m.Cards = append(m.Cards, c)
	}
	return m
}
