// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import "fmt"

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
	r.Busy, r.VideoBusy = 9, 33
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
	table.Clocks2.SocketPower, table.Clocks2.GfxPower = 11000, 2900
	table.GfxClk, table.UClk, table.VClk, table.DClk, table.FClk, table.SocClk = 800, 1000, 400, 400, 1400, 600
	table.Throttle, table.IndependentThrottle = 0, 0
	c.Metrics = table
	c.Target, c.SIMDs = 110003, 24
	c.Partitions = []Partition{{GPUID: 61001, Memory: r.VRAM, Used: None}}
	m.Cards = []*Card{c}
	m.Processes = []Process{
		{PID: 901, Name: "compositor", Files: []File{{FD: 9, Target: "/dev/dri/card0", Client: &Client{
			ID: 4, Address: c.Address, Keys: []string{VRAM(81_920), "drm-memory-gtt: \t300000 KiB", Engine("gfx", 7_000_000_000)},
		}}}},
		// The driver takes system memory for what the compute driver counts as device memory.
		{PID: 902, Name: "llama-server", Files: []File{{FD: 11, Target: "/dev/dri/renderD128", Client: &Client{
			ID: 5, Address: c.Address, Keys: []string{"drm-resident-vram:\t0", "drm-resident-gtt:\t10485760 KiB"},
		}}}, Compute: []ComputeUse{{GPUID: c.Partitions[0].GPUID, VRAM: 10 << 30, Occupied: None}}},
		// It has merely opened the GPU.
		{PID: 903, Name: "rocminfo", Files: []File{{FD: 11, Target: "/dev/dri/renderD128", Client: &Client{
			ID: 6, Address: c.Address, Keys: []string{"drm-resident-vram:\t0", "drm-resident-gtt:\t2048 KiB"},
		}}}, Compute: []ComputeUse{{GPUID: c.Partitions[0].GPUID}}},
	}
	return m
}
