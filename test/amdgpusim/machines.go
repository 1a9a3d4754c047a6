// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import "fmt"

const (
	gib = 1 << 30

	// acceleratorClass and displayClass are PCI classes: a processing accelerator, a VGA controller.
	acceleratorClass = 0x120000
	displayClass     = 0x030000
)

// Machines returns the machines that there are, by name, with their values as they are made.
func Machines() map[string]func() *Machine {
	return map[string]func() *Machine{
		"mi100":      MI100,
		"mi250":      MI250,
		"mi300x-spx": MI300XSPX,
		"mi300x-cpx": MI300XCPX,
		"mi300x-1.5": MI300XEarlier,
		"radeon":     Radeon,
		"apu":        APU,
	}
}

// blank is a card all of whose readings the driver lacks.
func blank(number int, address string) *Card {
	return &Card{
		Number: number, Address: address, Status: "active", Class: acceleratorClass,
		Readings: Readings{
			Busy: None, MemoryBusy: None, VRAM: None, VRAMUsed: None, Visible: None, VisibleUsed: None, GTT: None, GTTUsed: None,
			Edge: None, Junction: None, Memory: None, Average: None, Instant: None, Cap: None, CapMax: None,
			Graphics: None, MemoryClock: None, Duty: None, RPM: None, MaxRPM: None, Replays: None, GraphicsVoltage: None,
		},
	}
}

// MI100 is a machine with two MI100, under AMD's own driver.
func MI100() *Machine {
	m := &Machine{Name: "mi100", Driver: "6.8.5", Kernel: "5.15.0-97-generic"}
	for i := range 2 {
		c := blank(i, fmt.Sprintf("0000:%02x:00.0", 0x63+0x40*i))
		c.Device, c.Subsystem, c.Revision = 0x738c, 0x0c34, 0x01
		c.UniqueID = 0x3a51e0c2d4b70010 + uint64(i)
		c.Serial, c.VBIOS = fmt.Sprintf("69220100014%d", i), "113-D3431500-100"
		c.NUMANode = i
		r := &c.Readings
		r.Busy, r.MemoryBusy = 61+20*i, 17
		r.VRAM, r.VRAMUsed = 34342961152, 20_000_000_000
		r.Visible, r.VisibleUsed = r.VRAM, r.VRAMUsed
		r.GTT, r.GTTUsed = 33*gib, 13_000_000
		r.Edge, r.Junction, r.Memory = 47000+1000*i, 52000, 49000
		r.EdgeLimits = Limits{Critical: 100000, Hysteresis: -273150, Emergency: 105000}
		r.JunctionLimits = Limits{Critical: 100000, Hysteresis: -273150, Emergency: 105000}
		r.MemoryLimit = Limits{Critical: 94000, Hysteresis: -273150, Emergency: 99000}
		r.Average, r.Cap, r.CapMax = 141_000_000, 290_000_000, 290_000_000
		r.Graphics, r.MemoryClock = 1_472_000_000, 1_200_000_000
		r.GraphicsLevels, r.GraphicsLevel = []int{300, 1502}, 1
		r.MemoryLevels, r.MemoryLevel = []int{167, 500, 667, 1000, 1200}, 4
		r.SOCLevels, r.FabricLevels = []int{1000}, []int{1402}
		r.Speed, r.MaxSpeed, r.Width, r.MaxWidth = "16.0 GT/s PCIe", "16.0 GT/s PCIe", 16, 16
		r.Replays, r.GraphicsVoltage = 2, 881
		table := Blank(&MetricsV1x3{}, 1, 3)
		table.Edge, table.Hotspot, table.Memory = 47+uint16(i), 52, 49
		table.HBM = [4]uint16{48, 49, 47, 46}
		table.GfxActivity, table.UMCActivity, table.SocketPower = uint16(r.Busy), 17, 141
		table.Energy, table.SystemClock, table.FirmwareTime = 3_221_225_472, 86_400_000_000_000, 8_640_000_000_000
		table.GfxClk, table.UClk, table.SocClk = 1472, 1200, 1000
		table.LinkWidth, table.LinkSpeed, table.Throttle, table.IndependentThrottle = 16, 160, 0, 0
		table.GfxActivityAcc, table.MemActivityAcc = 1_000_000+uint32(i), 250_000
		c.Metrics = table
		c.RAS = []Block{{"umc", 0, 3, None}, {"sdma", 0, 0, None}, {"gfx", 1, 7, None}, {"mmhub", 0, 0, None}, {"pcie_bif", 0, 0, None}, {"xgmi_wafl", 0, 0, None}}
		c.Target, c.SIMDs, c.XCCs = 90008, 480, 1
		c.Partitions = []Partition{{GPUID: 21001 + uint32(i), Memory: r.VRAM, Used: r.VRAMUsed}}
		m.Cards = append(m.Cards, c)
	}
	m.Processes = []Process{trainer(4242, m.Cards[0], 0, 17, 19_000_000_000, 96)}
	return m
}

// MI250 is a machine with one MI250: two dies, each a GPU of its own, of which the first tells the power of both.
func MI250() *Machine {
	m := &Machine{Name: "mi250", Driver: "6.10.5", Kernel: "5.15.0-122-generic"}
	for i := range 2 {
		c := blank(i, fmt.Sprintf("0000:%02x:00.0", 0x29+3*i))
		c.Device, c.Subsystem, c.Revision = 0x740c, 0x0b0c, 0x01
		c.UniqueID = 0x7f80a1b2c3d40011 + uint64(i)*0x1000
		c.Serial, c.VBIOS, c.Product = fmt.Sprintf("PCB05010%d", i), "113-D65201-042", "AMD INSTINCT MI250 (MCM) OAM AC MBA"
		c.NUMANode = 0
		c.HiveID = 0x5d3c2b1a00000001
		r := &c.Readings
		r.Busy, r.MemoryBusy = 99-50*i, 43
		r.VRAM, r.VRAMUsed = 68702699520, int64(51_000_000_000-20_000_000_000*i)
		r.Visible, r.VisibleUsed = r.VRAM, r.VRAMUsed
		r.GTT, r.GTTUsed = 257*gib, 24_000_000
		r.Edge, r.Junction, r.Memory = 51000+2000*i, 58000+3000*i, 61000+1000*i
		r.EdgeLimits = Limits{Critical: 100000, Hysteresis: -273150, Emergency: 105000}
		r.JunctionLimits = Limits{Critical: 110000, Hysteresis: -273150, Emergency: 115000}
		r.MemoryLimit = Limits{Critical: 110000, Hysteresis: -273150, Emergency: 115000}
		r.Graphics, r.MemoryClock = 1_700_000_000, 1_600_000_000
		r.GraphicsLevels, r.GraphicsLevel = []int{500, 800, 1700}, 2
		r.MemoryLevels, r.MemoryLevel = []int{400, 700, 1200, 1600}, 3
		r.SOCLevels, r.FabricLevels = []int{1090}, []int{400}
		r.Speed, r.MaxSpeed, r.Width, r.MaxWidth = "16.0 GT/s PCIe", "16.0 GT/s PCIe", 16, 16
		r.Replays, r.GraphicsVoltage = 0, 893
		table := Blank(&MetricsV1x3{}, 1, 3)
		table.Edge, table.Hotspot, table.Memory = uint16(r.Edge/1000), uint16(r.Junction/1000), uint16(r.Memory/1000)
		table.HBM = [4]uint16{61, 60, 59, 58}
		table.GfxActivity, table.UMCActivity = uint16(r.Busy), 43
		table.SystemClock, table.FirmwareTime = 5_400_000_000_000, 540_000_000_000
		table.GfxClk, table.UClk, table.SocClk = 1700, 1600, 1090
		table.LinkWidth, table.LinkSpeed, table.Throttle = 16, 160, 0
		table.GfxActivityAcc, table.MemActivityAcc = 2_000_000, 800_000
		if i == 0 {
			r.Average, r.Cap, r.CapMax = 412_000_000, 560_000_000, 560_000_000
			table.SocketPower, table.Energy = 412, 163_000_000_000
			table.IndependentThrottle = 1 << 0 // PPT0
		} else {
			r.Average, r.Cap, r.CapMax = 0, 0, 0
			table.SocketPower, table.Energy, table.IndependentThrottle = 0, 0, 0
		}
		c.Metrics = table
		c.RAS = []Block{{"umc", 0, int64(5 * i), 1}, {"sdma", 0, 0, None}, {"gfx", 0, 1, None}, {"mmhub", 0, 0, None}, {"pcie_bif", 0, 0, None}, {"hdp", 0, 0, None}, {"xgmi_wafl", 0, 2, None}}
		c.Target, c.SIMDs, c.XCCs = 90010, 416, 1
		c.Partitions = []Partition{{GPUID: 31001 + uint32(i), Memory: r.VRAM, Used: r.VRAMUsed}}
		m.Cards = append(m.Cards, c)
	}
	p := trainer(5151, m.Cards[0], 0, 17, 50_000_000_000, 104)
	second := trainer(5151, m.Cards[1], 0, 21, 30_000_000_000, 52)
	p.Files, p.Compute = append(p.Files, second.Files[len(second.Files)-1]), append(p.Compute, second.Compute...)
	m.Processes = []Process{p}
	return m
}

// mi300x returns one MI300X, not divided.
func mi300x(i int) *Card {
	c := blank(1+i, fmt.Sprintf("%04x:%02x:00.0", 0, 0x05+0x20*i))
	c.Device, c.Subsystem = 0x74a1, 0x74a1
	c.UniqueID = 0xa1b2c3d4e5f60000 + uint64(i)
	c.Serial, c.VBIOS, c.Product = fmt.Sprintf("69230500%04d", 17+i), "113-M3000100-102", "AMD Instinct MI300X OAM"
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

// Radeon is a workstation with one Radeon RX 7900 XTX under the kernel's driver, behind a switch of its own board.
func Radeon() *Machine {
	m := &Machine{Name: "radeon", Kernel: "6.12.48-amd64"}
	c := blank(1, "0000:03:00.0")
	c.Class = displayClass
	c.Behind = []Bridge{
		{Address: "0000:00:01.1", Vendor: 0x1022, Speed: "8.0 GT/s PCIe", Width: 8},
		{Address: "0000:01:00.0", Vendor: 0x1002, Speed: "8.0 GT/s PCIe", Width: 8},
		{Address: "0000:02:00.0", Vendor: 0x1002, Speed: "16.0 GT/s PCIe", Width: 16},
	}
	c.Device, c.Subsystem, c.Revision = 0x744c, 0x0e3b, 0xc8
	c.UniqueID, c.VBIOS, c.NUMANode = 0x0b7e4d2a91c60034, "113-D70401XT-P10", -1
	r := &c.Readings
	r.Busy, r.MemoryBusy = 73, 40
	r.VRAM, r.VRAMUsed = 25753026560, 7_300_000_000
	r.Visible, r.VisibleUsed = 268435456, 100_000_000
	r.GTT, r.GTTUsed = 32*gib, 90_000_000
	r.Edge, r.Junction, r.Memory = 61000, 78000, 84000
	r.EdgeLimits = Limits{Critical: 100000, Hysteresis: -273150, Emergency: 105000}
	r.JunctionLimits = Limits{Critical: 110000, Hysteresis: -273150, Emergency: 115000}
	r.MemoryLimit = Limits{Critical: 108000, Hysteresis: -273150, Emergency: 113000}
	r.Average, r.Cap, r.CapMax = 287_000_000, 327_000_000, 376_000_000
	r.Graphics, r.MemoryClock = 2_486_000_000, 1_249_000_000
	r.GraphicsLevels, r.GraphicsLevel = []int{500, 2486, 2526}, 1
	r.MemoryLevels, r.MemoryLevel = []int{96, 456, 772, 1249}, 3
	r.VideoLevels, r.DataLevels, r.SOCLevels, r.FabricLevels = []int{30, 1500}, []int{30, 1400}, []int{500, 1200}, []int{400, 2300}
	r.Duty, r.RPM, r.MaxRPM = 102, 1312, 3300
	r.Speed, r.MaxSpeed, r.Width, r.MaxWidth = "16.0 GT/s PCIe", "16.0 GT/s PCIe", 16, 16
	r.Replays, r.GraphicsVoltage = 0, 912
	table := Blank(&MetricsV1x3{}, 1, 3)
	table.Edge, table.Hotspot, table.Memory, table.VRGfx = 61, 78, 84, 66
	table.GfxActivity, table.UMCActivity, table.MMActivity, table.SocketPower = 73, 40, 12, 287
	table.Energy, table.SystemClock, table.FirmwareTime = 1_500_000_000, 3_600_000_000_000, 360_000_000_000
	table.GfxClk, table.UClk, table.VClk0, table.DClk0 = 2486, 1249, 1500, 1400
	table.Fan, table.LinkWidth, table.LinkSpeed = 1312, 8, 80
	table.Throttle, table.IndependentThrottle = 0x8, 1<<36|1<<16 // hotspot, TDC of the GPU
	c.Metrics = table
	c.Target, c.SIMDs = 110000, 192
	c.Partitions = []Partition{{GPUID: 51001, Memory: r.VRAM, Used: None}}
	m.Cards = []*Card{c}
	render := fmt.Sprintf("/dev/dri/renderD%d", 128+c.Number)
	game := &Client{ID: 91, Address: c.Address, Keys: []string{
		VRAM(5_600_000), "drm-memory-gtt: \t120000 KiB", Engine("gfx", 41_000_000_000), Engine("dma", 900_000_000),
		Engine("dec", 2_000_000_000), Engine("enc", 1_000_000_000),
	}}
	m.Processes = []Process{
		{PID: 1201, Name: "game", Files: []File{
			{FD: 3, Target: "/dev/null"}, {FD: 17, Target: render, Client: game}, {FD: 18, Target: render, Client: game},
		}},
		{PID: 1202, Name: "game-helper", Files: []File{{FD: 5, Target: render, Client: game}}},
	}
	return m
}

// APU is a notebook whose GPU shares the machine's memory.
func APU() *Machine {
	m := &Machine{Name: "apu", Kernel: "6.12.48-amd64"}
	c := blank(0, "0000:c4:00.0")
	c.Class, c.IsAPU = displayClass, true
	c.Device, c.Subsystem, c.Revision = 0x15bf, 0x0123, 0xc7
	c.VBIOS, c.NUMANode = "113-PHXGENERIC-001", -1
	r := &c.Readings
	r.Busy = 9
	r.VRAM, r.VRAMUsed = 536870912, 210_000_000
	r.Visible, r.VisibleUsed = 536870912, 210_000_000
	r.GTT, r.GTTUsed = 14*gib, 1_900_000_000
	r.Edge = 43000
	r.Instant = 11_000_000
	r.Graphics, r.GraphicsVoltage = 800_000_000, 731
	r.GraphicsLevels, r.GraphicsLevel = []int{800, 1100, 2700}, 0
	r.MemoryLevels, r.MemoryLevel = []int{1000, 2400, 2800}, 0
	r.Speed, r.MaxSpeed, r.Width, r.MaxWidth = "16.0 GT/s PCIe", "16.0 GT/s PCIe", 16, 16
	table := Blank(&MetricsV2x3{}, 2, 3)
	table.Gfx, table.Soc, table.GfxActivity, table.SystemClock = 4300, 4100, 900, 1_000_000_000_000
	table.Clocks2.SocketPower = 11000
	table.GfxClk, table.UClk, table.VClk, table.DClk, table.FClk, table.SocClk = 800, 1000, 400, 400, 1400, 600
	table.Throttle, table.IndependentThrottle = 0, 0
	c.Metrics = table
	c.Target, c.SIMDs = 110003, 24
	c.Partitions = []Partition{{GPUID: 61001, Memory: r.VRAM, Used: None}}
	m.Cards = []*Card{c}
	m.Processes = []Process{{PID: 901, Name: "compositor", Files: []File{{FD: 9, Target: "/dev/dri/card0", Client: &Client{
		ID: 4, Address: c.Address, Keys: []string{VRAM(81_920), "drm-memory-gtt: \t300000 KiB", Engine("gfx", 7_000_000_000)},
	}}}}}
	return m
}

// trainer is a process that computes on a card or a partition of it, by the compute driver.
func trainer(pid int, c *Card, partition int, client uint64, vram int64, units int) Process {
	p := &c.Partitions[partition]
	number := c.Number
	if p.XCP != "" {
		number = p.Number
	}
	return Process{
		PID: pid, Name: "python3",
		Files: []File{
			{FD: 1, Target: "/dev/null"},
			{FD: 12 + partition, Target: "/dev/kfd"},
			{FD: 20 + number, Target: fmt.Sprintf("/dev/dri/renderD%d", 128+number), Client: &Client{
				ID: client, Address: c.Address, Keys: []string{VRAM(vram / 1024), "drm-memory-gtt: \t2048 KiB"},
			}},
		},
		Compute: []ComputeUse{{GPUID: p.GPUID, VRAM: vram, SDMA: 1000, Occupied: units}},
	}
}
