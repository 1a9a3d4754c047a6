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

// Machines returns functions that make every machine, by name.
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

// blank returns a card without any quantity.
func blank(number int, address string) *Card {
	return &Card{
		Number: number, Address: address, Status: "active", Class: acceleratorClass, BadPages: None,
		Readings: Readings{
			Busy: None, MemoryBusy: None, VideoBusy: None, VRAM: None, VRAMUsed: None, Visible: None, VisibleUsed: None, GTT: None, GTTUsed: None,
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
		table.Energy, table.SystemClock, table.FirmwareTime = 12_182_400, 86_400_000_000_000, 8_640_000_000_000 // J
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

// MI250 is a machine with one MI250: two dies, each a GPU of its own. The first reports the power of both.
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
		Compute: []ComputeUse{{GPUID: p.GPUID, VRAM: vram, SDMA: 1_500_000, Evicted: 250, Occupied: units}},
	}
}
